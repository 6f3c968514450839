// SPDX-License-Identifier: MIT
//
// tls_client.go - connects with Go's crypto/tls, sends stdin and prints what the server sends.
//
//	tls_client [-max 1.2] [-no-hybrid] [-ech NAME] ADDRESS:PORT NAME PROTOCOL,PROTOCOL
//
// NAME and the list may be empty. The certificate is not verified. With -ech, NAME and the list are encrypted
// for a key that nobody has, and the outer hello has the other name.
package main

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"flag"
	"io"
	"log"
	"os"
	"strings"
)

func pair(value int) []byte {
	return []byte{byte(value >> 8), byte(value)}
}

// A list with one configuration for Encrypted Client Hello: X25519, HKDF-SHA256, AES-128-GCM.
func echList(name string) []byte {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	public := key.PublicKey().Bytes()
	contents := append([]byte{7, 0, 0x20}, pair(len(public))...)
	contents = append(contents, public...)
	contents = append(contents, 0, 4, 0, 1, 0, 1, 64, byte(len(name)))
	contents = append(contents, name...)
	contents = append(contents, 0, 0)
	config := append([]byte{0xfe, 0x0d}, append(pair(len(contents)), contents...)...)
	return append(pair(len(config)), config...)
}

func main() {
	max := flag.String("max", "1.3", "newest version: 1.0 to 1.3")
	noHybrid := flag.Bool("no-hybrid", false, "offer no post-quantum key share")
	ech := flag.String("ech", "", "the name in the outer hello")
	flag.Parse()
	versions := map[string]uint16{"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12,
		"1.3": tls.VersionTLS13}
	config := &tls.Config{InsecureSkipVerify: true, ServerName: flag.Arg(1), MinVersion: tls.VersionTLS10,
		MaxVersion: versions[*max]}
	if flag.Arg(2) != "" {
		config.NextProtos = strings.Split(flag.Arg(2), ",")
	}
	if *noHybrid {
		config.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
	}
	if *ech != "" {
		config.EncryptedClientHelloConfigList = echList(*ech)
		config.MinVersion = tls.VersionTLS13
	}
	link, err := tls.Dial("tcp", flag.Arg(0), config)
	if err != nil {
		log.Fatal(err)
	}
	go io.Copy(link, os.Stdin)
	// A server that hangs up without an alert is a server that has answered.
	io.Copy(os.Stdout, link)
}

// SPDX-License-Identifier: MIT
//
// tls_client.go - connects with Go's crypto/tls, sends stdin and prints what the server sends.
//
//	tls_client [-max 1.2] [-no-hybrid] ADDRESS:PORT NAME PROTOCOL,PROTOCOL
//
// NAME and the list may be empty. The certificate is not verified.
package main

import (
	"crypto/tls"
	"flag"
	"io"
	"log"
	"os"
	"strings"
)

func main() {
	max := flag.String("max", "1.3", "newest version: 1.0 to 1.3")
	noHybrid := flag.Bool("no-hybrid", false, "offer no post-quantum key share")
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
	link, err := tls.Dial("tcp", flag.Arg(0), config)
	if err != nil {
		log.Fatal(err)
	}
	go io.Copy(link, os.Stdin)
	// A server that hangs up without an alert is a server that has answered.
	io.Copy(os.Stdout, link)
}

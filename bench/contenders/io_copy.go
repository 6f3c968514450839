// SPDX-License-Identifier: MIT
//
// io_copy.go - a relay as one writes it in Go: io.Copy in both directions, which splices inside.
//
//	io_copy PORT SERVER [PORT SERVER]...        SERVER is a port of 127.0.0.1 or a path
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
)

type halfCloser interface {
	net.Conn
	CloseWrite() error
}

func relayHalf(dst, src halfCloser, done chan<- struct{}) {
	_, err := io.Copy(dst, src)
	if err == nil {
		err = dst.CloseWrite()
	}
	if err != nil { // one side is dead: so is the other one
		dst.Close()
		src.Close()
	}
	done <- struct{}{}
}

func relay(client halfCloser, network, server string) {
	defer client.Close()
	conn, err := net.Dial(network, server)
	if err != nil {
		return
	}
	defer conn.Close()
	done := make(chan struct{}, 2)
	go relayHalf(conn.(halfCloser), client, done)
	relayHalf(client, conn.(halfCloser), done)
	<-done
	<-done
}

func serve(port, server string) {
	network := "unix"
	if server[0] != '/' {
		network, server = "tcp", "127.0.0.1:"+server
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		go relay(client.(*net.TCPConn), network, server)
	}
}

func main() {
	if len(os.Args) < 3 || len(os.Args)%2 == 0 {
		fmt.Fprintln(os.Stderr, "usage: io_copy PORT SERVER [PORT SERVER]...")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	for i := 1; i < len(os.Args); i += 2 {
		go serve(os.Args[i], os.Args[i+1])
	}
	select {}
}

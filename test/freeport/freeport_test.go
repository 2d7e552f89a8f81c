package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestTCP(t *testing.T) {
	for range 100 {
		port, err := TCP(t.Context())
		if err != nil || port < first || port >= last {
			t.Fatal(port, err)
		}
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)) // also nobody else gets it in this test
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

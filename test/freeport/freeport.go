// Package freeport finds ports for programs that are given one, and cannot be given a listener.
//
// The kernel gives such a port to nobody who wants any port: no connection and no other listener gets it before the program listens there.
// It runs no goroutine and publishes nothing.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports are below net.ipv4.ip_local_port_range, and are neither those of labs nor of Kubernetes' Services.
const first, last = 27_000, 30_000

// given are the ports that TCP has returned.
var given sync.Map

// TCP returns a TCP port that nobody uses, and each only once in a process.
func TCP(ctx context.Context) (int, error) {
	for range 1000 {
		port := first + rand.IntN(last-first)
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}

// Command hostpathplugin stands in for the CSI driver of that name (kubernetes-csi/csi-driver-host-path) in its proxy mode, and has none of the
// driver: Kubernetes' tests of DRA run it in a pod, so that a driver within the tests serves the sockets that the node's agent connects to.
//
// It listens on two endpoints. For each connection on the first it takes one on the second, and copies both ways until one of them ends. It is built
// for the images of these tests. It runs three goroutines for each pair of connections, and publishes no trace events.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
)

func main() {
	endpoint, proxy, err := parse(os.Args[1:])
	if err == nil {
		err = run(endpoint, proxy)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostpathplugin:", err)
		os.Exit(1)
	}
}

// parse reads the flags that the tests set. Those of the driver and of its log are read, and have no effect.
func parse(args []string) (endpoint, proxy string, err error) {
	f := flag.NewFlagSet("hostpathplugin", flag.ContinueOnError)
	f.StringVar(&endpoint, "endpoint", "", "where the agent connects: unix:///PATH, /PATH or tcp://HOST:PORT")
	f.StringVar(&proxy, "proxy-endpoint", "", "where the tests connect, in the same form")
	f.String("drivername", "", "no effect")
	f.Int("v", 0, "no effect")
	if err := f.Parse(args); err != nil {
		return "", "", err
	}
	if endpoint == "" || proxy == "" {
		return "", "", errors.New("--endpoint and --proxy-endpoint are required: there is only the proxy mode here")
	}
	return endpoint, proxy, nil
}

func run(endpoint, proxy string) error {
	first, err := listen(endpoint)
	if err != nil {
		return err
	}
	second, err := listen(proxy)
	if err != nil {
		return errors.Join(err, first.Close())
	}
	return pair(first, second)
}

// listen removes the socket of an earlier process, which was killed.
func listen(endpoint string) (net.Listener, error) {
	network, address := split(endpoint)
	if network == "unix" {
		if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return net.Listen(network, address)
}

func split(endpoint string) (network, address string) {
	if network, address, ok := strings.Cut(endpoint, "://"); ok {
		return network, address
	}
	return "unix", endpoint
}

// pair returns when one of the listeners fails. A connection on second waits in the kernel until first has one.
func pair(first, second net.Listener) error {
	for {
		a, err := first.Accept()
		if err != nil {
			return err
		}
		b, err := second.Accept()
		if err != nil {
			return errors.Join(err, a.Close())
		}
		go join(a, b)
	}
}

// join copies both ways. The end of one direction ends the other.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
		_ = from.Close()
	}
	both.Go(func() { one(a, b) })
	both.Go(func() { one(b, a) })
	both.Wait()
}

package otlp

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits on one sender.
const (
	maxBody      = 4 << 20  // of a request, uncompressed, in bytes; also the default of gRPC and of collectors
	maxJSON      = 1 << 20  // the same for JSON, where three bytes can be a whole span
	maxSpan      = 64 << 10 // of one encoded span or resource, in bytes
	maxSpans     = 8192     // per request; containerd sends up to 512
	maxConns     = 8        // simultaneous, per address
	maxBusy      = 4        // requests decoded simultaneously over HTTP
	maxStreams   = 2        // the same over gRPC, per connection
	maxBatches   = 8        // requests waiting to be published
	maxAttrs     = 12       // per span
	maxEvents    = 4        // per span
	maxKey       = 64       // bytes of an attribute's name
	maxValue     = 256      // bytes of an attribute's value, an error or a name
	maxCalls     = 8192     // CRI calls remembered
	maxPublished = 16384    // spans remembered, to detect duplicates
	maxSandboxes = 4096     // sandboxes whose plugins are expected
	maxHeld      = 4096     // spans waiting for their parents
	maxHeldBytes = 4 << 20  // the total size of those, in bytes
	maxCallSpans = 2048     // spans per call; a pull of a hundred layers has half of it
	maxRate      = 2000     // spans per second, on average
)

// Config is the configuration of a Receiver.
type Config struct {
	// GRPC and HTTP are addresses such as 127.0.0.1:4317 and 127.0.0.1:4318; empty disables the protocol. Only loopback
	// addresses are accepted.
	GRPC, HTTP string
	// CNIBinDirs are the directories of CNI plugins, such as /opt/cni/bin. Each program that is run there for a sandbox call
	// becomes a span too, see package plugins. Empty disables this.
	CNIBinDirs []string
	// Runtime is the socket of the CRI, such as unix:///run/containerd/containerd.sock: only plugins that its process or its
	// children run count. Empty means every process of root.
	Runtime string
	// Bus is where calls are read from and spans are published.
	Bus *trace.Bus
}

// loopback checks an address and returns it with a literal IP address.
func loopback(field, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%s address %q: want host:port, for example 127.0.0.1:4317: %w", field, addr, err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%s address %q: spans are taken on a loopback address only: use 127.0.0.1 or [::1]", field, addr)
	}
	if _, err := net.LookupPort("tcp", port); err != nil || port == "" {
		return "", fmt.Errorf("%s address %q: port %q is none: use 0 to 65535", field, addr, port)
	}
	return net.JoinHostPort(ip.String(), port), nil
}

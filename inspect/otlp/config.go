package otlp

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The limits of what one sender may use.
const (
	maxBody      = 4 << 20  // of a request, unpacked, in bytes; also the default of gRPC and of collectors
	maxJSON      = 1 << 20  // the same for JSON, of which three bytes may stand for a whole span
	maxSpan      = 64 << 10 // of one encoded span or resource, in bytes
	maxSpans     = 8192     // in a request; containerd sends up to 512
	maxConns     = 8        // at a time, on each address
	maxBusy      = 4        // requests decoded at a time over HTTP
	maxStreams   = 2        // the same over gRPC, on each connection
	maxBatches   = 8        // requests that wait to be published
	maxAttrs     = 12       // of a span
	maxEvents    = 4        // of a span
	maxKey       = 64       // bytes of an attribute's name
	maxValue     = 256      // bytes of an attribute's value, an error or a name
	maxCalls     = 8192     // CRI calls that are remembered
	maxPublished = 16384    // spans that are remembered, to know them again
	maxSandboxes = 4096     // sandboxes whose plugins are looked for
	maxHeld      = 4096     // spans that wait for the one above them
	maxHeldBytes = 4 << 20  // what they take
	maxCallSpans = 2048     // spans below a call; a pull of a hundred layers has half of it
	maxRate      = 2000     // spans a second, in the long run
)

// Config says where to listen.
type Config struct {
	// GRPC and HTTP are addresses as 127.0.0.1:4317 and 127.0.0.1:4318; empty means
	// that protocol is off. Only loopback addresses are taken.
	GRPC, HTTP string
	// CNIBinDirs are the directories of CNI plugins, such as /opt/cni/bin. Each program that is run there for a sandbox call
	// becomes a span too, see package plugins. Empty disables this.
	CNIBinDirs []string
	// Runtime is the socket of the CRI, such as unix:///run/containerd/containerd.sock: only plugins that its process or its
	// children run count. Empty means every process of root.
	Runtime string
	// Bus is where calls are learned of and spans are published.
	Bus *trace.Bus
}

// loopback checks an address and returns it with a literal IP.
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

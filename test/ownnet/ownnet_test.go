package ownnet_test

import (
	"net"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/ownnet"
)

func TestMain(m *testing.M) { ownnet.Main(m.Run) }

// TestAlone needs a device of loopback that works, and no other.
func TestAlone(t *testing.T) {
	ownnet.Need(t)
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if addrs, err := i.Addrs(); i.Flags&net.FlagLoopback == 0 && len(addrs) > 0 {
			t.Errorf("device %s has %v, %v", i.Name, addrs, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("loopback: %v", err)
	}
	c.Close()
}

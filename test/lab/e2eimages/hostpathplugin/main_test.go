package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		args []string
		bad  bool
	}{
		{[]string{"--v=5", "--endpoint=/a/b.sock", "--proxy-endpoint=tcp://:9001"}, false},
		{[]string{"--drivername=x", "--endpoint=/a/b.sock", "--proxy-endpoint=tcp://:9001"}, false},
		{[]string{"--endpoint=/a/b.sock"}, true},
		{[]string{"--proxy-endpoint=tcp://:9001"}, true},
		{[]string{"--endpoint=/a/b.sock", "--proxy-endpoint=tcp://:9001", "--other"}, true},
	} {
		endpoint, proxy, err := parse(tc.args)
		if (err != nil) != tc.bad || err == nil && (endpoint != "/a/b.sock" || proxy != "tcp://:9001") {
			t.Errorf("%q: %q, %q, %v", tc.args, endpoint, proxy, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for endpoint, want := range map[string][2]string{
		"/a/b.sock": {"unix", "/a/b.sock"}, "unix:///a/b.sock": {"unix", "/a/b.sock"}, "tcp://:9001": {"tcp", ":9001"},
	} {
		if network, address := split(endpoint); network != want[0] || address != want[1] {
			t.Errorf("%s: %s %s", endpoint, network, address)
		}
	}
}

// proxied starts the proxy, and returns a function that connects to each side.
func proxied(t *testing.T) func() (agent, driver net.Conn) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(socket, nil, 0o600); err != nil { // of an earlier process
		t.Fatal(err)
	}
	first, err := listen("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	second, err := listen("tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- pair(first, second) }()
	t.Cleanup(func() {
		_ = first.Close()
		_ = second.Close()
		if err := <-done; err == nil {
			t.Error("pair returned without an error")
		}
	})
	dial := func(network, address string) net.Conn {
		c, err := net.DialTimeout(network, address, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	return func() (net.Conn, net.Conn) {
		driver := dial("tcp", second.Addr().String())
		return dial("unix", socket), driver
	}
}

// Connections are paired in their order, and copied both ways.
func TestPair(t *testing.T) {
	connect := proxied(t)
	for range 2 {
		agent, driver := connect()
		exchange(t, agent, driver, "request")
		exchange(t, driver, agent, "response")
	}
}

func exchange(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(from, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != text {
		t.Errorf("%q, %v; want %q", got, err, text)
	}
}

// What was written before the end arrives, and then the end, whoever closes.
func TestEnd(t *testing.T) {
	connect := proxied(t)
	for _, who := range []string{"agent", "driver"} {
		from, to := connect()
		if who == "driver" {
			from, to = to, from
		}
		_, _ = io.WriteString(from, "last")
		_ = from.Close()
		if got, err := io.ReadAll(to); err != nil || string(got) != "last" {
			t.Errorf("%s closes: %q, %v", who, got, err)
		}
	}
}

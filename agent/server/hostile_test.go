package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/conns"
)

// allPorts serves the three ports. Everyone can connect to them.
func allPorts(t *testing.T, change func(*Config)) *world {
	t.Helper()
	return start(t, func(c *Config) {
		c.HealthzAddress, c.HealthzPort, c.ReadOnlyPort = "127.0.0.1", freePort(t), freePort(t)
		if change != nil {
			change(c)
		}
	})
}

// ports returns the addresses by name.
func (w *world) ports() map[string]string {
	at := func(port int32) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	return map[string]string{"healthz": at(w.cfg.HealthzPort), "read-only": at(w.cfg.ReadOnlyPort), "https": at(w.cfg.Port)}
}

// dial connects to a port as an unknown client.
func dial(t *testing.T, name, address string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if name == "https" {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	return c
}

// ends reports whether the peer closes the connection within a minute, which is longer than any deadline here.
func ends(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := io.Copy(io.Discard, c)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// The server does not wait for a body that does not arrive: it responds and closes the connection.
func TestBodyThatDoesNotCome(t *testing.T) {
	w := allPorts(t, nil)
	for name, address := range w.ports() {
		for kind, head := range map[string]string{
			"length": "Content-Length: 100000", "small": "Content-Length: 5", "chunked": "Transfer-Encoding: chunked", "expect": "Content-Length: 9\r\nExpect: 100-continue",
		} {
			for _, method := range []string{"GET", "POST", "PUT"} {
				for who, token := range map[string]string{"stranger": "", "root": "Authorization: Bearer root\r\n"} {
					if name != "https" && who == "root" {
						continue
					}
					t.Run(strings.Join([]string{name, kind, method, who}, " "), func(t *testing.T) {
						t.Parallel()
						c := dial(t, name, address)
						fmt.Fprintf(c, "%s /healthz HTTP/1.1\r\nHost: x\r\n%s%s\r\n\r\n", method, token, head)
						in := bufio.NewReader(c)
						_ = c.SetReadDeadline(time.Now().Add(time.Minute))
						res, err := http.ReadResponse(in, nil)
						if err != nil {
							t.Fatal(err)
						}
						_, _ = io.Copy(io.Discard, res.Body)
						_ = res.Body.Close()
						if !ends(c) {
							t.Error("the connection is held")
						}
					})
				}
			}
		}
	}
	t.Run("that is wanted", func(t *testing.T) {
		t.Parallel()
		c := dial(t, "https", w.ports()["https"])
		fmt.Fprint(c, "PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer root\r\nContent-Length: 5\r\n\r\n")
		if !ends(c) {
			t.Error("the connection is held")
		}
	})
}

// The number of connections that are idle or send their headers slowly is limited, and others are accepted meanwhile.
func TestManyConnections(t *testing.T) {
	const many = 2000
	for _, send := range []string{"", "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "} {
		t.Run(fmt.Sprintf("%.3s", send), func(t *testing.T) {
			w := allPorts(t, nil)
			for name, address := range w.ports() {
				for range many {
					c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close() })
					_, _ = io.WriteString(c, send)
				}
				if name == "https" {
					if code, body := w.ask(t, "GET", "/healthz", "root", ""); code != 200 {
						t.Errorf("%s: %d %s", name, code, body)
					}
				} else {
					c := &http.Client{Timeout: time.Minute}
					res, err := c.Get("http://" + address + "/healthz") //nolint:noctx // it has a timeout
					if err != nil {
						t.Fatal(name, err)
					}
					_ = res.Body.Close()
				}
			}
			for _, v := range w.server.serves {
				l, ok := v.listener.(*conns.Listener)
				if !ok {
					continue
				}
				if unknown, _ := l.Count(); unknown > secureLimits.Unknown {
					t.Errorf("%s has %d connections", l.Addr(), unknown)
				}
			}
		})
	}
}

// live returns the size of the live heap in bytes.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Paths from unknown clients are not kept.
func TestLongPathsOfStrangers(t *testing.T) {
	const requests, budget = 100, 16 << 20 // without the limit, the kept requests would need six times the budget
	w := allPorts(t, nil)
	path := strings.Repeat("a", 1<<20-8<<10)
	before := live()
	for _, name := range []string{"healthz", "https"} {
		for range requests {
			c := dial(t, name, w.ports()[name])
			_, _ = fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path) // the server may close it earlier
			_ = c.Close()
		}
		if grown := live() - before; grown > budget {
			t.Errorf("%s: %d MB more after %d requests", name, grown>>20, requests)
		}
	}
	if code, _ := w.ask(t, "GET", "/healthz", "root", ""); code != 200 {
		t.Errorf("%d", code)
	}
}

// A long command of a client with a certificate is accepted.
func TestLongCommand(t *testing.T) {
	w := start(t, nil)
	command := strings.Repeat("x", 900<<10)
	run := func(certs ...tls.Certificate) (*http.Response, error) {
		c := tls.Client(dial(t, "", strings.TrimPrefix(w.url, "https://")), &tls.Config{InsecureSkipVerify: true, Certificates: certs})
		_, _ = fmt.Fprintf(c, "POST /run/shop/web/web?cmd=%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer root\r\nContent-Length: 0\r\n\r\n", command)
		return http.ReadResponse(bufio.NewReader(c), nil)
	}
	if res, err := run(); err == nil {
		_ = res.Body.Close()
		t.Errorf("before it is known who asks: %s", res.Status)
	}
	own, err := certificate(t)(nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := run(*own)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); res.StatusCode != 200 || string(body) != command {
		t.Errorf("%d, %d bytes, %v", res.StatusCode, len(body), err)
	}
}

// A pod is looked up only after the caller is authorized.
func TestNoLookupForStrangers(t *testing.T) {
	var lookups atomic.Int64
	w := start(t, func(c *Config) {
		pods, pod := c.Pods, c.Pod
		c.Pods = func() []v1.Pod { lookups.Add(1); return pods() }
		c.Pod = func(namespace, name string) *v1.Pod { lookups.Add(1); return pod(namespace, name) }
	})
	for _, path := range []string{"/containerLogs/shop/web/web", "/exec/shop/web/web", "/attach/shop/web/web", "/portForward/shop/web", "/run/shop/web/web", "/checkpoint/shop/web/web", "/pods"} {
		for _, token := range []string{"", "unknown", "broken", "reader"} {
			if path == "/pods" && token == "reader" {
				continue
			}
			w.ask(t, "GET", path, token, "")
		}
	}
	if n := lookups.Load(); n != 0 {
		t.Errorf("%d lookups for callers that may not ask", n)
	}
	w.ask(t, "GET", "/containerLogs/shop/web/web", "root", "")
	if n := lookups.Load(); n != 1 {
		t.Errorf("%d lookups for one that may", n)
	}
}

// A client that does not read does not block the server, however the response is sent.
func TestSlowReader(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("http2 ", http2), func(t *testing.T) {
			done := make(chan error, 1)
			w := start(t, func(c *Config) {
				c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.(*recorder).timeout = 2 * time.Second //nolint:forcetypeassert // it is one; the client has read the header by then
					for {
						if _, err := w.Write(make([]byte, 1<<20)); err != nil {
							done <- err
							return
						}
					}
				})
			})
			tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2}
			defer tr.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer root")
			res, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if (res.ProtoMajor == 2) != http2 {
				t.Fatal(res.Proto)
			}
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Error("it is waited for")
			}
		})
	}
}

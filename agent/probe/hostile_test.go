package probe

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeloupe/kubeloupe/trace"
)

// sayTo answers each connection with what say writes, and returns the port. It stops when the test ends.
func sayTo(t *testing.T, say func(net.Conn)) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = lis.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				_, _ = c.Read(make([]byte, 4096)) // most of the request
				say(c)
			})
		}
	})
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	return port
}

// TestHostileAnswers uses servers that answer against the protocol: little of the answer is kept, and the attempt ends.
func TestHostileAnswers(t *testing.T) {
	large := bytes.Repeat([]byte("A"), 8<<20)
	for name, say := range map[string]func(net.Conn){
		"a status line of 8 MiB":   func(c net.Conn) { _, _ = c.Write(large); _, _ = c.Write([]byte("\r\n\r\n")) },
		"a status line of 100 KiB": func(c net.Conn) { _, _ = c.Write(large[:100<<10]); _, _ = c.Write([]byte("\r\n\r\n")) },
		"a status line without end": func(c net.Conn) {
			for range 64 {
				if _, err := c.Write(large[:1<<20]); err != nil {
					return
				}
			}
		},
		"a header of 8 MiB": func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nX: ")); _, _ = c.Write(large) },
		"a redirect to 100 KiB": func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 302 Found\r\nLocation: http://%zz"))
			_, _ = c.Write(large[:100<<10])
			_, _ = c.Write([]byte("\r\n\r\n"))
		},
		"a chunk of that size": func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
			_, _ = c.Write(large[:100<<10])
		},
		"many answers before the one": func(c net.Conn) {
			for range 100_000 {
				if _, err := c.Write([]byte("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")); err != nil {
					return
				}
			}
		},
		"not HTTP/2 to a gRPC probe": func(c net.Conn) { _, _ = c.Write(large) },
	} {
		t.Run(name, func(t *testing.T) {
			port := intstr.Parse(sayTo(t, say))
			h := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: port}}
			if strings.Contains(name, "gRPC") {
				h = v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port.IntVal}}
			}
			p := newProber(t, noExec{})
			o := p.do(t.Context(), &attempt{pod: &v1.Pod{}, container: &v1.Container{Name: "web"}, probe: &v1.Probe{ProbeHandler: h}, timeout: 3 * time.Second})
			said := o.output
			if o.err != nil {
				said += o.err.Error()
			}
			if o.ok || len(said) > maxOutput {
				t.Errorf("ok %v, %d bytes: %.100s", o.ok, len(said), said)
			}
		})
	}
}

// TestAnswerWithoutEnd: of an endless body, only the kept part is read; if a body arrives one byte at a time, the
// attempt times out.
func TestAnswerWithoutEnd(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < 1000 && r.Context().Err() == nil; i++ {
			if r.URL.Path == "/fast" {
				_, _ = w.Write(make([]byte, 1<<20))
				continue
			}
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	p := newProber(t, noExec{})
	for _, c := range []struct {
		path    string
		timeout time.Duration
		ok      bool
	}{{"/fast", time.Minute, true}, {"/slow", time.Second, false}} {
		h := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: c.path, Port: intstr.Parse(port)}}
		o := p.do(t.Context(), &attempt{pod: &v1.Pod{}, container: &v1.Container{Name: "web"}, probe: &v1.Probe{ProbeHandler: h}, timeout: c.timeout})
		if o.ok != c.ok || len(o.output) > maxOutput {
			t.Errorf("%s: ok %v, %d bytes, %v", c.path, o.ok, len(o.output), o.err)
		}
	}
}

// TestGarbageIsNotKept makes 300 attempts at a server whose status line is 100 KiB of garbage; the events keep little
// of it.
func TestGarbageIsNotKept(t *testing.T) {
	garbage := append(bytes.Repeat([]byte("A"), 100<<10), "\r\n\r\n"...)
	port := sayTo(t, func(c net.Conn) { _, _ = c.Write(garbage) })
	bus := trace.NewBus(0)
	p := newProber(t, noExec{})
	p.cfg.Bus = bus
	before := live()
	for range 300 {
		a := &attempt{
			pod: &v1.Pod{}, container: &v1.Container{Name: "web"}, timeout: 3 * time.Second, kind: Liveness,
			probe: &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.Parse(port)}}},
		}
		o := p.do(t.Context(), a)
		if o.ok {
			t.Fatal("garbage is an answer")
		}
		p.tell(context.Background(), a, o)
	}
	if grown := live() - before; grown > 8<<20 || bus.Bytes() > 2<<20 {
		t.Errorf("%d bytes more are alive, the ring has %d", grown, bus.Bytes())
	}
	runtime.KeepAlive(p)
}

// live returns the size of the live heap in bytes.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

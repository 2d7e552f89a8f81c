package kubeclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// A heartbeat that hangs ends after the shorter one of two times: others must follow before the lease expires.
func TestHeartbeatTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	for name, cfg := range map[string]Config{
		"status": {StatusFrequency: 10 * time.Millisecond, LeaseDuration: time.Hour},
		"lease":  {StatusFrequency: time.Hour, LeaseDuration: 10 * time.Millisecond},
		"only":   {LeaseDuration: 10 * time.Millisecond},
	} {
		cfg.REST = &rest.Config{Host: server.URL}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := c.Heartbeat.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{}); err == nil || ctx.Err() != nil {
			t.Errorf("%s: it did not time out: %v", name, err)
		}
		cancel()
	}
}

// After a failed heartbeat, a connection on which a watch runs is kept with HTTP/2, which finds out itself whether it is broken.
func TestCloseAfterHeartbeat(t *testing.T) {
	for _, without := range []string{"", "1"} {
		t.Setenv(noHTTP2, without)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		c, err := New(Config{REST: &rest.Config{Host: server.URL}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		watch, err := c.Main.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.CloseIdle()
		if without == "" {
			select {
			case <-watch.ResultChan():
				t.Error("the watch has ended")
			default:
			}
		} else {
			<-watch.ResultChan() // it ends
		}
		cancel()
		server.Close()
	}
}

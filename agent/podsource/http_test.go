package podsource

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// site is a server with set responses, without a network.
type site struct {
	mu    sync.Mutex
	code  int
	body  string
	etag  string
	err   error
	asked []string
}

func (w *site) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, strings.TrimSpace(r.Header.Get("X-Key")+" "+r.Header.Get("If-None-Match")))
	if w.err != nil {
		return nil, w.err
	}
	code := w.code
	if w.etag != "" && r.Header.Get("If-None-Match") == w.etag {
		code = http.StatusNotModified
	}
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Request: r,
		Header: http.Header{"Etag": {w.etag}}, Body: io.NopCloser(strings.NewReader(w.body)),
	}, nil
}

const webPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: app, image: 'app:1'}]}\n"

func TestHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, s := tracetest.New(t), &sets{}
		w := &site{code: 503}
		h, err := NewHTTP(HTTPConfig{
			URL: "http://pods/x", Header: http.Header{"X-Key": {"k"}}, Node: "n1", Client: &http.Client{Transport: w}, Bus: rec.Bus(),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx, s.set) }()
		step := func(what string, change func(), want ...string) {
			t.Helper()
			w.mu.Lock()
			change()
			w.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			expect(t, what, s.took(), want...)
		}
		step("no answer yet", func() {})
		step("empty", func() { w.code = 200 }, "pods: ")
		step("a pod", func() { w.etag, w.body = "v1", fmt.Sprintf(webPod, "a") }, "pods: a-n1@")
		step("unchanged", func() { w.asked = nil })
		for _, a := range w.asked {
			if a != "k v1" {
				t.Errorf("asked with header %q, want the key and the ETag", a)
			}
		}
		step("broken: the last good one stays", func() { w.etag, w.body = "v2", "kind: Pod\nspec: 3\n" }, "pods: a-n1@")
		step("gone: the last good one stays", func() { w.err = fmt.Errorf("refused") })
		step("a list", func() {
			w.err, w.etag, w.body = nil, "v3", `{"kind":"PodList","apiVersion":"v1","items":[`+
				`{"metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}]}`
		}, "pods: b-n1@")
		step("a list without items", func() { w.etag, w.body = "v4", `{"kind":"PodList","apiVersion":"v1","items":[]}` }, "pods: ")
		step("a pod again", func() { w.etag, w.body = "v5", fmt.Sprintf(webPod, "c") }, "pods: c-n1@")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		var errs []string
		for _, e := range tracetest.Events[trace.SourceError](rec) {
			errs = append(errs, fmt.Sprintf("%s kept=%t", e.Message, e.Kept))
		}
		want := []string{
			"the server responds 503 Service Unavailable kept=false", "the response is empty: want a manifest, or a PodList without items kept=false",
			" kept=false", errs[3], `Get "http://pods/x": refused kept=true`, " kept=false",
		}
		expect(t, "errors", errs, want...)
		if !strings.HasSuffix(errs[3], "kept=true") {
			t.Errorf("%q: want the last good version kept", errs[3])
		}
	})
}

func TestNewHTTP(t *testing.T) {
	for _, c := range []HTTPConfig{{URL: "http://a"}, {URL: "a", Node: "n"}, {URL: "ftp://a", Node: "n"}, {URL: "http://a", Node: "n", Period: -1}} {
		if _, err := NewHTTP(c); err == nil {
			t.Errorf("NewHTTP(%+v) worked", c)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
)

// What is in the layout can be pulled, and what is pushed can be pulled again.
func TestStore(t *testing.T) {
	img, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AppendImage(img, layout.WithAnnotations(map[string]string{refAnnotation: "lab/image:1"})); err != nil {
		t.Fatal(err)
	}
	s, err := newStore(t.TempDir(), dir)
	if err != nil {
		t.Fatal(err)
	}
	h := registry.New(registry.WithBlobHandler(s), registry.Logger(log.New(t.Output(), "", 0)))
	if err := s.publish(h); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(new(throttle).wrap(h))
	defer server.Close()
	fetch := func(method, path string, body io.Reader) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %s %v", method, path, resp.Status, err)
		}
		return data
	}

	manifest, err := v1.ParseManifest(bytes.NewReader(fetch(http.MethodGet, "/v2/lab/image/manifests/1", nil)))
	if err != nil {
		t.Fatal(err)
	}
	if want, err := img.Manifest(); err != nil || !cmp.Equal(want, manifest) {
		t.Errorf("manifest differs: %v %s", err, cmp.Diff(want, manifest))
	}
	for _, layer := range manifest.Layers {
		data := fetch(http.MethodGet, "/v2/lab/image/blobs/"+layer.Digest.String(), nil)
		if got, size, err := v1.SHA256(bytes.NewReader(data)); err != nil || got != layer.Digest || size != layer.Size {
			t.Errorf("blob %v of %d bytes, %v, want %v", got, size, err, layer)
		}
	}

	digest, _, err := v1.SHA256(strings.NewReader("pushed"))
	if err != nil {
		t.Fatal(err)
	}
	fetch(http.MethodPost, "/v2/test/pushed/blobs/uploads/?digest="+digest.String(), strings.NewReader("pushed"))
	if got := fetch(http.MethodGet, "/v2/test/pushed/blobs/"+digest.String(), nil); string(got) != "pushed" {
		t.Errorf("pulled %q of what was pushed", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "blobs", digest.Algorithm, digest.Hex)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the push went into the layout: %v", err)
	}
}

// Two downloads share the rate, and the latency comes before each.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := &throttle{limits: Limits{Rate: 1 << 20, LatencyMS: 50}}
		h := th.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, bytes.NewReader(make([]byte, 1<<20)))
		}))
		begin := time.Now()
		done := make(chan int)
		for range 2 {
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v2/a/blobs/b", nil))
				done <- w.Body.Len()
			}()
		}
		if n := <-done + <-done; n != 2<<20 {
			t.Errorf("%d bytes arrived", n)
		}
		if took := time.Since(begin).Round(time.Millisecond); took != 2050*time.Millisecond {
			t.Errorf("took %v, want 2.05s", took)
		}
	})
}

// A client that goes away ends its wait.
func TestThrottleCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), throttle: &throttle{limits: Limits{Rate: 1}}, ctx: ctx}
		if n, err := w.Write(make([]byte, 10)); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wrote %d, %v", n, err)
		}
	})
}

func TestLimits(t *testing.T) {
	th := new(throttle)
	for _, tc := range []struct {
		method, body string
		code         int
		want         Limits
	}{
		{http.MethodPut, `{"rate": 1000, "latencyMs": 5}`, 200, Limits{1000, 5}},
		{http.MethodGet, ``, 200, Limits{1000, 5}},
		{http.MethodPut, `{"rate": -1}`, 400, Limits{1000, 5}},
		{http.MethodPut, `{"speed": 1}`, 400, Limits{1000, 5}},
		{http.MethodPut, `{}`, 200, Limits{}},
	} {
		w := httptest.NewRecorder()
		th.serveLimits(w, httptest.NewRequest(tc.method, "/lab/limits", strings.NewReader(tc.body)))
		if w.Code != tc.code {
			t.Errorf("%s %s: %d, want %d", tc.method, tc.body, w.Code, tc.code)
		}
		if th.limits != tc.want {
			t.Errorf("%s %s: limits %+v, want %+v", tc.method, tc.body, th.limits, tc.want)
		}
		var shown Limits
		if w.Code == 200 && (json.Unmarshal(w.Body.Bytes(), &shown) != nil || shown != tc.want) {
			t.Errorf("%s %s: shows %s", tc.method, tc.body, w.Body)
		}
	}
}

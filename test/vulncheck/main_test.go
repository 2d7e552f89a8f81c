package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A database that is not available is reported, and no error.
func TestNoDatabase(t *testing.T) {
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer forbidden.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for db, want := range map[string]string{forbidden.URL: "403 Forbidden", gone.URL: "connection refused"} {
		var out strings.Builder
		if err := run(t.Context(), db, nil, &out); err != nil || !strings.HasPrefix(out.String(), "skipped: ") || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}

func TestReach(t *testing.T) {
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mirror/index/db.json" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer there.Close()
	if err := reach(t.Context(), there.URL+"/mirror/"); err != nil {
		t.Error(err)
	}
	if err := reach(t.Context(), "file:///nowhere"); err != nil {
		t.Error(err)
	}
}

package agent_test

import (
	"fmt"
	"net/http"
	"testing"
)

// The read-only port has its own setting: enableServer is about the authenticated one.
func TestReadOnlyPortWithoutServer(t *testing.T) {
	h := newHost(t, nil)
	port := fmt.Sprint(freePort(t))
	n := run(t, h.config("--enable-server=false", "--address", "127.0.0.1", "--read-only-port", port))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("/pods: %s", res.Status)
	}
	n.end()
}

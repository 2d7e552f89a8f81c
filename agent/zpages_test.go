package agent_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
)

// The feature gates of z-pages and of WebSockets reach the server.
func TestGatesOfTheServer(t *testing.T) {
	for _, on := range []bool{true, false} {
		h := newHost(t, nil)
		port := fmt.Sprint(freePort(t))
		n := run(t, h.config("--anonymous-auth=true", "--authorization-mode", "AlwaysAllow", "--address", "127.0.0.1", "--port", port, "--cert-dir", filepath.Join(h.dir, "pki"),
			"--feature-gates", fmt.Sprintf("ComponentFlagz=%t,ComponentStatusz=%t,ExtendWebSocketsToKubelet=%t", on, !on, on)))
		pod := podOf("web")
		n.source.Set(pod)
		n.until("start", milestone("started", pod))
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		want := map[string]int{"/flagz": 200, "/statusz": 404, "/portForward/" + pod.Namespace + "/none": 404}
		if !on { // a port forward in a WebSocket then needs its ports in the query
			want = map[string]int{"/flagz": 404, "/statusz": 200, "/portForward/" + pod.Namespace + "/none": 400}
		}
		for path, code := range want {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+port+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if path != "/flagz" && path != "/statusz" {
				req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {"SPDY/3.1+portforward.k8s.io"}}
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != code {
				t.Errorf("gates %t: %s: %d, want %d", on, path, res.StatusCode, code)
			}
		}
		n.end()
	}
}

package agent_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiServer is an API server that keeps what is created, ignores patches, and has no news for watches but of nodes.
type apiServer struct {
	nodes   chan *v1.Node // news for whoever watches nodes
	mu      sync.Mutex
	objects map[string]map[string]any // by path
	deleted []string                  // deletions of collections: their paths and field selectors
	refused string                    // the path that it refuses, with what is below
	listed  map[string]int            // lists by path
	stopped chan struct{}
}

// api starts an API server, and returns it with the flags of an agent that uses it.
func (h *host) api() (*apiServer, []string) {
	h.t.Helper()
	a := &apiServer{nodes: make(chan *v1.Node), objects: map[string]map[string]any{}, listed: map[string]int{}, stopped: make(chan struct{})}
	srv := httptest.NewServer(a)
	h.t.Cleanup(func() {
		close(a.stopped)
		srv.Close()
	})
	return a, h.kubeconfig(srv.URL)
}

// kubeconfig returns the flags of an agent that uses the API server at url.
func (h *host) kubeconfig(url string) []string {
	h.t.Helper()
	path := filepath.Join(h.dir, "kubeconfig")
	text := `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "` + url + `"}}], users: [{name: u, user: {token: t}}],
contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return []string{"--kubeconfig", path, "--cert-dir", filepath.Join(h.dir, "pki")}
}

// put adds an object at a path.
func (a *apiServer) put(path string, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	o := map[string]any{}
	if err := json.Unmarshal(text, &o); err != nil {
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[path] = o
}

// ServeHTTP implements http.Handler.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") == "true" { // then clients list first
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
		})
		return
	}
	if r.URL.Query().Get("watch") != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		var news chan *v1.Node
		if strings.HasSuffix(r.URL.Path, "/nodes") {
			news = a.nodes
		}
		for {
			select {
			case n := <-news:
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": n})
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			case <-a.stopped:
				return
			}
		}
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	sent := map[string]any{}
	_ = json.Unmarshal(body, &sent)
	code, answer := a.answer(r, sent)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

func (a *apiServer) answer(r *http.Request, sent map[string]any) (int, any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path := strings.TrimSuffix(r.URL.Path, "/status")
	known := a.objects[path]
	if a.refused != "" && strings.HasPrefix(path, a.refused) {
		return http.StatusForbidden, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "not allowed",
		}
	}
	switch r.Method {
	case http.MethodPost:
		if meta, ok := sent["metadata"].(map[string]any); ok && meta["name"] != nil {
			meta["resourceVersion"], meta["uid"] = "1", "uid-"+meta["name"].(string)
			a.objects[path+"/"+meta["name"].(string)] = sent
		}
		return http.StatusCreated, sent
	case http.MethodPut:
		a.objects[path] = sent
		return http.StatusOK, sent
	case http.MethodDelete:
		a.deleted = append(a.deleted, path+" "+r.URL.Query().Get("fieldSelector"))
		delete(a.objects, path)
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
	}
	if known != nil {
		return http.StatusOK, known
	}
	if last := path[strings.LastIndexByte(path, '/')+1:]; r.Method == http.MethodGet && strings.HasSuffix(last, "s") {
		a.listed[path]++
		return http.StatusOK, map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
	}
	return http.StatusNotFound, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: path + " not found",
	}
}

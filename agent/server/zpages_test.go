package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

func TestZPages(t *testing.T) {
	s := &Server{began: time.Now().Add(-time.Hour), cfg: Config{Version: "v1.37.1-kubeloupe", Flags: func() map[string]string { return map[string]string{"v": "2", "config": "/etc/k.yaml"} }}}
	const as = ";v=v1beta1;g=config.k8s.io"
	for _, c := range []struct {
		path, accept string
		code         int
		form, has    string
	}{
		{"/flagz", "", 200, "text/plain", "config=/etc/k.yaml\nv=2\n"},
		{"/flagz", "*/*", 200, "text/plain", "kubelet flagz\n"},
		{"/flagz", "application/json;as=Flagz" + as, 200, "application/json", `"flags":{"config":"/etc/k.yaml","v":"2"}`},
		{"/flagz", "application/json;as=Statusz" + as, 406, "application/json", "only the following media types are accepted: application/json, application/yaml, text/plain"},
		{"/statusz", "text/html, text/*;q=0.2", 200, "text/plain", "Up: 1 hr 00 min 00 sec\n"},
		{"/statusz", "application/yaml;as=Statusz" + as, 200, "application/yaml", "binaryVersion: 1.37.1\n"},
		{"/statusz", "application/json;as=Statusz" + as, 200, "application/json", `"emulationVersion":"1.37","paths":["/configz","/debug","/flagz","/healthz","/metrics"]`},
		{"/statusz", "application/json;as=Statusz;v=v1alpha1;g=config.k8s.io", 200, "application/json", `"apiVersion":"config.k8s.io/v1alpha1","kind":"Statusz"`},
		{"/statusz", "application/json;q=0.1;as=Statusz" + as + ",text/plain;q=x", 200, "text/plain", "Paths: /configz /debug /flagz /healthz /metrics\n"},
		{"/statusz", "application/json", 406, "application/json", `"reason":"NotAcceptable"`},
		{"/statusz", strings.Repeat("a/b,", 100) + "*/*", 406, "application/json", "NotAcceptable"},
	} {
		r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil), httptest.NewRecorder()
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		if c.path == "/flagz" {
			s.flagz(w, r)
		} else {
			s.statusz(statuszPaths(true))(w, r)
		}
		form, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		body := w.Body.String()
		if form == "application/json" {
			var v map[string]any
			if err := json.Unmarshal([]byte(body), &v); err != nil || v["kind"] == "" {
				t.Errorf("%s %q: %v: %s", c.path, c.accept, err, body)
			}
			if apiVersion, _ := v["apiVersion"].(string); strings.HasPrefix(c.has, `"apiVersion`) {
				if apiVersion != "config.k8s.io/v1alpha1" || w.Header().Get("Warning") == "" {
					t.Errorf("%s, warning %q", apiVersion, w.Header().Get("Warning"))
				}
				continue
			}
		} else if err := yaml.Unmarshal([]byte(body), new(any)); form == "application/yaml" && err != nil {
			t.Error(err)
		}
		if w.Code != c.code || form != c.form || !strings.Contains(body, c.has) {
			t.Errorf("%s %q: %d %s %s; want %d %s with %s", c.path, c.accept, w.Code, form, body, c.code, c.form, c.has)
		}
	}
}

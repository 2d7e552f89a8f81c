package faultcorpus_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// answers is what a registry does with a request; false leaves it to the laboratory's.
type answers func(w http.ResponseWriter, r *http.Request) bool

// front is a registry in front of the laboratory's, until the case ends. It returns its address.
func (s *scene) front(secure bool, a answers) string {
	s.t.Helper()
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Registry})
	behind.FlushInterval = -1
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a(&untilEnd{w, ended}, r) {
			behind.ServeHTTP(w, r)
		}
	}))
	scheme := "http"
	if secure {
		server.StartTLS()
		scheme = "https"
	} else {
		server.Start()
	}
	s.t.Cleanup(func() {
		close(ended)
		server.CloseClientConnections()
		server.Close()
	})
	addr := server.Listener.Addr().String()
	s.host(addr, scheme+"://"+addr)
	return addr
}

// untilEnd is a response whose handler may wait until the case ends.
type untilEnd struct {
	http.ResponseWriter
	ended chan struct{}
}

// hang waits until the case or the request ends.
func hang(w http.ResponseWriter, r *http.Request) bool {
	select {
	case <-w.(*untilEnd).ended:
	case <-r.Context().Done():
	}
	return true
}

// host tells containerd where a registry is, until the case ends.
func (s *scene) host(name, server string) {
	s.t.Helper()
	dir := filepath.Join(s.Dir, "certs.d", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	text := fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", server, server)
	if err := os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// ref is an image at a registry. Its name there is not the pod's case's: no other case has it on the node.
func ref(addr string, i lab.Image) string { return addr + "/" + i.Repository() }

// forget removes an image from the node, now and when the case ends.
func (s *scene) forget(ref string) {
	s.t.Helper()
	remove := func() {
		if _, err := s.images.RemoveImage(s.t.Context(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}}); err != nil {
			s.t.Log(err)
		}
	}
	remove()
}

// status answers with an error as registries do.
func status(code int, id, message string) answers {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/manifests/") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, id, message)
		return true
	}
}

// withToken wants a token, for which its own server of tokens takes some time.
func withToken(takes time.Duration) answers {
	return func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/token":
			time.Sleep(takes)
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"token":"t","expires_in":300}`)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="r",scope="repository:kubeloupe/http:pull"`, r.Host))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			return false
		}
		return true
	}
}

// broken is a case of an image that cannot be pulled.
func broken(name, does string, imageOf func(*scene) string) fault {
	return fault{
		name: name, class: "registry", does: does, want: []string{"KL05"}, silent: []string{"KL01", "KL02", "KL15", "KL26"},
		make: func(s *scene) {
			s.set(s.image("web", imageOf(s)))
			s.waits("web", trace.WaitBackoff, 2)
			s.lasts(6 * time.Second)
		},
	}
}

func at(a answers) func(*scene) string {
	return func(s *scene) string { return ref(s.front(false, a), lab.ImageHTTP) }
}

const index = "application/vnd.oci.image.index.v1+json"

func registryFaults() []fault {
	return []fault{
		broken("registry-not-found", "The registry has no such tag.", func(s *scene) string { return s.Registry + "/kubeloupe/busybox:none" }),
		broken("registry-unauthorized", "The registry wants credentials, and there are none.", at(func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
			return true
		})),
		broken("registry-rate-limit", "The registry has had too many requests.", at(status(http.StatusTooManyRequests, "TOOMANYREQUESTS", "You have reached your pull rate limit."))),
		broken("registry-no-platform", "The image is for another platform only.", at(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			text := `{"schemaVersion":2,"mediaType":"` + index + `","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":500,` +
				`"digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111","platform":{"architecture":"s390x","os":"linux"}}]}`
			w.Header().Set("Content-Type", index)
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			_, _ = fmt.Fprint(w, text)
			return true
		})),
		broken("registry-tls", "The registry's certificate is signed by nobody who is trusted.", func(s *scene) string {
			return ref(s.front(true, func(http.ResponseWriter, *http.Request) bool { return false }), lab.ImageHTTP)
		}),
		broken("registry-dns", "The registry's name does not resolve.", func(*scene) string { return "registry.invalid/kubeloupe/http:1" }),
		broken("registry-refused", "Nobody listens at the registry's address.", func(s *scene) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				s.t.Fatal(err)
			}
			addr := l.Addr().String()
			if err := l.Close(); err != nil {
				s.t.Fatal(err)
			}
			s.host(addr, "http://"+addr)
			return ref(addr, lab.ImageHTTP)
		}),
		{
			name: "registry-silent", class: "registry", want: []string{"KL37"}, silent: []string{"KL01", "KL15", "KL16", "KL03"},
			does: "The registry takes the connection, and answers nothing for 25 s so far.",
			make: func(s *scene) {
				s.set(s.image("web", ref(s.front(false, hang), lab.ImageHTTP)))
				s.calls("web", "PullImage", trace.EdgeBegin)
				s.lasts(25 * time.Second)
			},
		},
		{
			name: "registry-slow-answer", class: "registry", want: []string{"KL37"}, silent: []string{"KL01", "KL15", "KL03", "KL05"},
			does: "The registry takes 6 s until it answers for the manifest. The layers are on the node.",
			make: func(s *scene) {
				addr := s.front(false, func(_ http.ResponseWriter, r *http.Request) bool {
					if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/manifests/") {
						time.Sleep(6 * time.Second)
					}
					return false
				})
				s.set(s.image("web", ref(addr, lab.ImageHTTP)))
				s.pulled("web")
			},
		},
		{
			name: "registry-slow-token", class: "registry", want: []string{"KL37"}, silent: []string{"KL01", "KL04", "KL15", "KL03", "KL05"},
			does: "The server of tokens takes 5 s. The layers are on the node.",
			make: func(s *scene) {
				addr := s.front(false, withToken(5*time.Second))
				s.set(s.image("web", ref(addr, lab.ImageHTTP)))
				s.pulled("web")
			},
		},
		{
			name: "registry-fast-token", class: "registry", silent: []string{"KL01", "KL02", "KL03", "KL04", "KL05", "KL15"},
			does: "The registry is in order; a layer of 2 MiB comes at once.",
			make: func(s *scene) {
				addr := s.front(false, func(http.ResponseWriter, *http.Request) bool { return false })
				s.forget(s.Image(lab.ImageHTTP))
				s.set(s.image("web", ref(addr, lab.ImageHTTP)))
				s.pulled("web")
			},
		},
	}
}

package faultcorpus_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// ofUser is an image that is the HTTP server's but for its user.
func (s *scene) ofUser(user string) string {
	s.t.Helper()
	get := func(path string) (v map[string]any) {
		req, _ := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.Registry+"/v2/kubeloupe/http/"+path, nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
			s.t.Fatal(err)
		}
		return v
	}
	manifest := get("manifests/1")
	at := manifest["config"].(map[string]any)
	config := get("blobs/" + at["digest"].(string))
	config["config"].(map[string]any)["User"] = user
	inner, _ := json.Marshal(config)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(inner))
	at["digest"], at["size"] = digest, len(inner)
	outer, _ := json.Marshal(manifest)
	return ref(s.front(false, func(w http.ResponseWriter, r *http.Request) bool {
		text := outer
		switch {
		case strings.Contains(r.URL.Path, "/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		case strings.HasSuffix(r.URL.Path, "/blobs/"+digest):
			text = inner
		default:
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write(text)
		return true
	}), lab.ImageHTTP)
}

// onNode is a pod of the HTTP server in the node's network, at a port of the node.
func (s *scene) onNode(port int) *v1.Pod {
	p := s.http()
	p.Spec.HostNetwork = true
	p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PORT", Value: fmt.Sprint(port)}}
	podspec.SetDefaults(p)
	return p
}

func startAgain() []fault {
	return []fault{
		{
			name: "r2-user-unknown", class: workload, want: []string{"KL36"}, silent: []string{"KL05", "KL15", "KL31", "KL33", "KL34", "KL35"},
			does: "The image's user is a name that the image does not have.",
			make: func(s *scene) { s.failsToCreate(s.image("web", s.ofUser("shop"))) },
		},
		{
			name: "r2-user-overridden", class: workload, silent: allBut(),
			does: "The image's user is a name that the image does not have; the pod has runAsUser, a number.",
			make: func(s *scene) {
				p := s.image("web", s.ofUser("shop"))
				p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: new(int64(4711))}
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "r2-node-port-taken", class: workload, want: []string{"KL27"}, silent: []string{"KL07", "KL15", "KL30", "KL31", "KL32", "KL35"},
			does: "The pod is in the node's network, and a program of the node has the port at which it is to listen: it exits with 1.",
			make: func(s *scene) {
				l, err := net.Listen("tcp", ":0")
				if err != nil {
					s.t.Fatal(err)
				}
				s.t.Cleanup(func() { _ = l.Close() })
				s.loops(s.onNode(l.Addr().(*net.TCPAddr).Port))
			},
		},
		{
			name: "r2-port-freed", class: workload, silent: allBut(),
			does: "Another pod had the port of the node, and is gone when this one comes.",
			make: func(s *scene) {
				s.set(port(s.pod("other"), v1.ProtocolTCP))
				s.ready("other")
				s.set()
				s.reached("other", trace.MilestoneGone)
				s.set(port(s.pod("web"), v1.ProtocolTCP))
				s.ready("web")
			},
		},
	}
}

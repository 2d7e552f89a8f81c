package trace

import (
	"strings"
	"testing"
)

// The texts are those of containerd 2.4.2, CNI plugins 1.9.1 and Kubernetes 1.37.1.
func TestClassify(t *testing.T) {
	for text, want := range map[string]FailureClass{
		"": "",
		`failed to setup network for sandbox "ab": plugin type="bridge" failed (add): failed to allocate for range 0: no IP addresses available`:                       FailNetwork,
		`NetworkPluginNotReady: Network plugin returns error: cni plugin not initialized`:                                                                              FailNetwork,
		`failed to setup network for sandbox "ab": failed to find plugin "calico" in path [/opt/cni/bin]`:                                                              FailNetwork,
		`failed to reserve sandbox name "web_shop_u_0": name "web_shop_u_0" is reserved for "ab"`:                                                                      FailNameReserved,
		`sandbox: create sandbox for shop/web: rpc error: code = DeadlineExceeded desc = context deadline exceeded`:                                                    FailDeadline,
		`image r.io/none:1: ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "r.io/none:1": failed to resolve image: not found`:         FailImage,
		`image far:1: ErrImageNeverPull: Container image "far:1" is not present with pull policy of Never`:                                                             FailImage,
		`setup of volume "keys" (kubernetes.io/secret) failed: secret "keys" not found`:                                                                                FailObject,
		`CreateContainerConfigError: couldn't find key pw in Secret shop/keys`:                                                                                         FailObject,
		`error processing PVC default/data: failed to fetch PVC from API server: persistentvolumeclaims "data" is forbidden: User "system:node:n" cannot get resource`: FailObject,
		`failed to create containerd task: exec: "secret-agent": executable file not found in $PATH`:                                                                   "",
		`image r.io/a:1: ErrImagePull: the registry says: failed to setup network for sandbox, secret "a" not found`:                                                   FailImage,
		`no space left on device`: "",
		strings.Repeat("x", maxClassified) + ` secret "keys" not found`: "",
	} {
		if got := Classify(text); got != want {
			t.Errorf("%.80s: %q, want %q", text, got, want)
		}
	}
}

// TestSchemas: records of the first schema and of this one are read, others are refused by their number.
func TestSchemas(t *testing.T) {
	const rest = `"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"pod.wait","event":{"for":"init","on":"init container a","target":{"kind":"init-container","name":"b"}}}`
	for line, want := range map[string]string{`{` + rest: "a", `{"v":1,` + rest: "a", `{"v":2,` + rest: "b"} {
		var r Record
		if err := r.ParseJSON([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if w, ok := r.Event.(*Wait); !ok || w.Target != (Target{Kind: TargetInitContainer, Name: want}) {
			t.Errorf("%s: %+v", line, r.Event)
		}
	}
	for _, v := range []string{"3", "-1", `"2"`} {
		var r Record
		if err := r.ParseJSON([]byte(`{"v":` + v + `,` + rest)); err == nil {
			t.Errorf("schema %s is read", v)
		} else if v == "3" && !strings.Contains(err.Error(), "field v: schema 3") {
			t.Error(err)
		}
	}
}

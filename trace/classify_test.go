package trace

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// The texts are from containerd 2.4.2, CNI plugins 1.9.1 and Kubernetes 1.37.1.
func TestClassify(t *testing.T) {
	for text, want := range map[string]FailureClass{
		"": "",
		`failed to setup network for sandbox "ab": plugin type="bridge" failed (add): failed to allocate for range 0: no IP addresses available`:                                                                                        FailPlugin,
		`failed to setup network for sandbox "ab": netplugin failed with no error message: signal: killed`:                                                                                                                              FailNetwork,
		`failed to create pod network sandbox k8s_web_shop_u_0(ab): error adding pod shop_web to CNI network "crio": no addresses`:                                                                                                      FailNetwork,
		`Get "https://10.96.0.1:443/api/v1/namespaces/shop/pods/web": dial tcp 10.96.0.1:443: connect: connection refused`:                                                                                                              FailUnreachable,
		`Get "https://cp:6443/api/v1/nodes/n": tls: failed to verify certificate: x509: certificate signed by unknown authority`:                                                                                                        FailUnreachable,
		`Patch "https://cp:6443/api/v1/nodes/n/status": context canceled`:                                                                                                                                                               FailCanceled,
		`ImageVolumeMountFailed: no such layer, context deadline exceeded`:                                                                                                                                                              FailImageVolume,
		`Operation cannot be fulfilled on pods "web": Precondition failed: UID in precondition: a, UID in object meta: b`:                                                                                                               FailReplaced,
		`NetworkPluginNotReady: Network plugin returns error: cni plugin not initialized`:                                                                                                                                               FailNetwork,
		`failed to setup network for sandbox "ab": failed to find plugin "calico" in path [/opt/cni/bin]`:                                                                                                                               FailPluginMissing,
		`failed to reserve sandbox name "web_shop_u_0": name "web_shop_u_0" is reserved for "ab"`:                                                                                                                                       FailNameReserved,
		`sandbox: create sandbox for shop/web: rpc error: code = DeadlineExceeded desc = context deadline exceeded`:                                                                                                                     FailDeadline,
		`image r.io/none:1: ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "r.io/none:1": failed to resolve image: not found`:                                                                          FailImageMissing,
		`image far:1: ErrImageNeverPull: Container image "far:1" is not present with pull policy of Never`:                                                                                                                              FailImageNever,
		`setup of volume "keys" (kubernetes.io/secret) failed: secret "keys" not found`:                                                                                                                                                 FailObject,
		`CreateContainerConfigError: couldn't find key pw in Secret shop/keys`:                                                                                                                                                          FailKey,
		`error processing PVC default/data: failed to fetch PVC from API server: persistentvolumeclaims "data" is forbidden: User "system:node:n" cannot get resource`:                                                                  FailObject,
		`failed to create containerd task: exec: "secret-agent": executable file not found in $PATH`:                                                                                                                                    FailStartMissing,
		`image r.io/a:1: ErrImagePull: the registry says: failed to setup network for sandbox, secret "a" not found`:                                                                                                                    FailImageMissing,
		`rpc error: code = DeadlineExceeded desc = failed to get sandbox image "r.io/pause:3": failed to pull image "r.io/pause:3": failed to do request: Head "https://r.io/v2/pause/manifests/3": dial tcp 10.0.0.1:443: i/o timeout`: FailImageReach,
		`failed pulling image "r.io/pause:3": Error response from daemon: unauthorized`:                                                                                                                                                 FailImageDenied,
		`error creating pod sandbox with name "k8s_web_shop_u_0": initializing source docker://r.io/pause:3: reading manifest 3: not found`:                                                                                             FailImageMissing,
		`networkPlugin cni failed to set up pod "web_shop" network: open /run/flannel/subnet.env: no such file or directory`:                                                                                                            FailNetwork,
		`network plugin is not ready: cni config uninitialized`:                                                                                                                                                                         FailNetwork,
		`failed to destroy network for sandbox "ab": no address`:                                                                                                                                                                        FailNetwork,
		`rpc error: code = Unavailable desc = transport is closing`:                                                                                                                                                                     FailUnreachable,
		`rpc error: code = DeadlineExceeded desc = stream terminated`:                                                                                                                                                                   FailDeadline,
		`Kubelet may be retrying requests that are timing out in CRI-O due to system load. Currently at stage sandbox creation: context deadline exceeded: error reserving pod name k8s_web_shop_u_0 for id ab: name is reserved`:       FailNameReserved,
		`Error response from daemon: Conflict. The container name "/k8s_web_web_shop_u_0" is already in use by container "ab". You have to remove (or rename) that container to be able to reuse that name.`:                            FailNameReserved,
		`Kubelet may be retrying requests that are timing out in CRI-O due to system load: error reserving pod name k8s_web_shop_u_0 for id ab: name is reserved`:                                                                       FailNameReserved,
		`error processing PVC shop/data: PVC is not bound`:                                                                                                                                                                              FailUnbound,
		`no space left on device`: "",
		strings.Repeat("x", maxClassified) + ` secret "keys" not found`: "",
	} {
		if got := Classify(text); got != want {
			t.Errorf("%.80s: %q, want %q", text, got, want)
		}
	}
}

// TestSchemas: records of the first and of the current schema are read, others are rejected with their number.
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

// TestClassifyPull: the texts are from containerd 2.4.2 and from registries.
func TestClassifyPull(t *testing.T) {
	for text, want := range map[string]FailureClass{
		"": "",
		`failed to pull and unpack image "docker.io/lab/none:1": failed to resolve reference "docker.io/lab/none:1": docker.io/lab/none:1: not found`:                                          FailImageMissing,
		`failed to resolve reference "docker.io/lab/x:1": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope`:                      FailImageMissing,
		`failed to resolve reference "r.io/x:1": unexpected status from HEAD request to https://r.io/v2/x/manifests/1: 401 Unauthorized`:                                                       FailImageDenied,
		`failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://r.io/token: 403 Forbidden`:                                                        FailImageDenied,
		`failed to copy: httpReadSeeker: failed open: unexpected status code https://r.io/v2/x/manifests/sha256:401: 429 Too Many Requests - Server message: toomanyrequests: pull rate limit`: FailImageLimited,
		`failed to do request: Head "https://r.io/v2/x/manifests/1": dial tcp: lookup r.io on 10.0.0.10:53: no such host`:                                                                      FailImageReach,
		`failed to do request: Head "https://r.io/v2/x/manifests/1": net/http: TLS handshake timeout`:                                                                                          FailImageReach,
		`failed to do request: Head "https://r.io/v2/x/manifests/1": tls: failed to verify certificate: x509: certificate signed by unknown authority`:                                         FailImageReach,
		`couldn't parse image name "Web:1": invalid reference format: repository name must be lowercase`:                                                                                       FailImageName,
		`failed to extract layer sha256:4015f403429a: write /var/lib/containerd/x: no space left on device`:                                                                                    FailImage,
	} {
		if got := ClassifyPull(text); got != want {
			t.Errorf("%.80s: got %q, want %q", text, got, want)
		}
	}
}

func TestPluginIn(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "no space left on device": "",
		`plugin type="bridge" failed (add): failed to find plugin "host-local" in path [/opt/cni/bin]`: "host-local",
		`failed to setup network for sandbox "ab": plugin type="bridge" name="net" failed (add): no`:   "bridge",
	} {
		if got := PluginIn(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestClasses: the classes that are parts of the image and network classes.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		class, wider FailureClass
		want         bool
	}{
		{FailImageDenied, FailImage, true},
		{FailImage, FailImage, true},
		{FailPlugin, FailNetwork, true},
		{FailImage, FailImageDenied, false},
		{FailDeadline, FailNetwork, false},
		{"", FailImage, false},
	} {
		if got := c.class.Of(c.wider); got != c.want {
			t.Errorf("%q of %q: got %v, want %v", c.class, c.wider, got, c.want)
		}
	}
	if got := ClassifyError(fmt.Errorf("dial tcp: %w", context.Canceled)); got != FailCanceled {
		t.Errorf("got %q, want %q", got, FailCanceled)
	}
}

// TestClassifyStart: the texts are from containerd 2.4.2 with runc, and from the agent.
func TestClassifyStart(t *testing.T) {
	const oci = `start container app: rpc error: code = Unknown desc = failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: `
	for text, want := range map[string]FailureClass{
		oci + `error during container init: exec: "no-such-program": executable file not found in $PATH`:                                                                              FailStartMissing,
		oci + `error during container init: exec: "/no/such": stat /no/such: no such file or directory`:                                                                               FailStartMissing,
		oci + `error during container init: exec: "/etc": is a directory`:                                                                                                             FailStartDir,
		oci + `error during container init: exec: "/bin/busybox/x": stat /bin/busybox/x: not a directory`:                                                                             FailStartDir,
		oci + `error during container init: exec: "/d/noexec": permission denied`:                                                                                                     FailStartDenied,
		oci + `error during container init: exec /d/garbage: exec format error`:                                                                                                       FailStartFormat,
		oci + `error during container init: exec /d/script: no such file or directory`:                                                                                                FailStartLoader,
		oci + `error during container init: chdir to cwd ("/x") set in config.json failed: permission denied`:                                                                         FailStartWorkdir,
		oci + `error during container init: error mounting "/a" to rootfs at "/b": not a directory: Are you trying`:                                                                   FailStartMount,
		oci + `error during container init: mkdir /bin/busybox: not a directory`:                                                                                                      FailStartWorkdir,
		oci + `error during container init: error mounting "/a" to rootfs at "/b/c": create mountpoint for /b/c mount: make mountpoint "/b/c": mkdirat /r/b/c: read-only file system`: FailStartReadOnly,
		oci + `error during container init: mkdirat /run/x: read-only file system`:                                                                                                    FailStartReadOnly,
		oci + `container init was OOM-killed (memory limit too low?)`:                                                                                                                 FailStartMemory,
		oci + `something new`: FailStart,
		oci + `error during container init: unable to apply apparmor profile: no such file`:                           FailAppArmor,
		oci + `error during container init: error loading seccomp filter into kernel: operation not permitted`:        FailSeccomp,
		`failed to create container: SELinux label cannot be applied`:                                                 FailSecurity,
		`container web: securityContext.runAsNonRoot: container has runAsNonRoot and image will run as root`:          FailRunsAsRoot,
		`container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root`:             FailUserName,
		`failed to create container: failed to generate spec: unable to find user www: no matching entries in passwd`: FailUserMissing,
		`create container app: rpc error: code = DeadlineExceeded desc = context deadline exceeded`:                   FailDeadline,
		`container app: env: secret "OCI runtime create failed" not found`:                                            FailObject,
	} {
		if got := Classify(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	const missing = `unable to start container process: exec: "a": executable file not found in $PATH`
	for _, c := range []struct {
		code            int32
		reason, message string
		want            FailureClass
	}{
		{128, "StartError", missing, FailStartMissing},
		{3, "Error", missing, ""},
		{137, "OOMKilled", missing, ""},
		{255, "Error", "exec /work/run: exec format error\n", FailStartFormat},
		{255, "Error", "exec /work/run: no such file or directory", FailStartLoader},
		{255, "Error", "reading the token klsecret\nexec /work/run: exec format error", ""},
		{1, "Error", "exec /work/run: exec format error", ""},
	} {
		if got := ClassifyExit(c.code, c.reason, c.message); got != c.want {
			t.Errorf("%d, %s, %s: %q, want %q", c.code, c.reason, c.message, got, c.want)
		}
	}
}

func TestMissingIn(t *testing.T) {
	for text, want := range map[string]*Missing{
		"": nil,
		`container web: env: secret "keys" not found`:                                                              {Kind: TargetSecret, Name: "keys"},
		`configmaps "app" is forbidden: User "system:node:n" cannot get resource`:                                  {Kind: TargetConfigMap, Name: "app", Forbidden: true},
		`container web: couldn't find key pw in Secret shop/keys`:                                                  {Kind: TargetSecret, Namespace: "shop", Name: "keys", Key: "pw"},
		`setup of volume "v" failed: configmap references non-existent config key: a.conf`:                         {Kind: TargetConfigMap, Key: "a.conf"},
		`error looking up service account shop/web: serviceaccount "web" not found`:                                {Kind: TargetServiceAccount, Name: "web"},
		`failed to fetch PVC from API server: persistentvolumeclaim "data" not found`:                              {Kind: TargetClaim, Name: "data"},
		`unable to start container process: exec: "secret \"keys\" not found": executable file not found in $PATH`: nil,
		`the image is not found`: nil,
	} {
		got := MissingIn(text)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestProbeAnswerIn(t *testing.T) {
	for text, want := range map[string]ProbeAnswer{
		"HTTP probe failed with statuscode: 503":                                                                AnswerStatus,
		"dial tcp 10.0.0.7:81: connect: connection refused":                                                     AnswerRefused,
		`Get "http://10.0.0.7:81/": dial tcp 10.0.0.7:81: connect: connection refused`:                          AnswerRefused,
		`Get "https://10.0.0.7:80/": http: server gave HTTP response to HTTPS client`:                           AnswerProtocol,
		`Get "http://10.0.0.7:80/": EOF`:                                                                        AnswerClosed,
		`timeout: failed to connect service "10.0.0.7:80" within 1s: context deadline exceeded`:                 AnswerUnreachable,
		`service unhealthy (responded with "NOT_SERVING")`:                                                      AnswerNotServing,
		"the app says: HTTP probe failed with statuscode: 503":                                                  "",
		`Get "http://10.0.0.7:80/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`: "",
	} {
		how, got, code := ProbeAnswerIn(text)
		if got != want || (got == AnswerStatus) != (code == 503) || (got != "") != (how != "") {
			t.Errorf("%s: %q %q %d, want %q", text, how, got, code, want)
		}
	}
}

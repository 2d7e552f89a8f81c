package vmtest

import (
	"strings"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
)

// TestUserNamespaces starts a pod with users of its own: root in it is nobody on the node, and the files of its volumes are root's by
// idmapped mounts.
func TestUserNamespaces(t *testing.T) {
	b := setup(t)
	b.start(t, map[string]string{"users": `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  nodeName: vm
  hostUsers: false
  terminationGracePeriodSeconds: 1
  containers:
  - {name: web, image: "%[2]s", command: [sh, -c, "echo written > /own/file; sleep 36000"], volumeMounts: [{name: own, mountPath: /own}]}
  volumes:
  - {name: own, emptyDir: {}}
`})
	p := b.pod(t, "users")
	pid := b.process(t, p, "web")
	ids := strings.Fields(b.Run(t, "head -n1 /proc/"+pid+"/uid_map"))
	if len(ids) != 3 || ids[0] != "0" || len(ids[1]) < 5 || ids[2] != "65536" {
		t.Errorf("its users are %v, want 65536 that are not the node's", ids)
	}
	if uid := b.Run(t, "stat -c %u /proc/"+pid); uid != ids[1] {
		t.Errorf("root in the pod is user %s on the node, want %s", uid, ids[1])
	}
	mounts := b.Run(t, "grep ' /own ' /proc/"+pid+"/mountinfo")
	if !strings.Contains(mounts, "idmapped") {
		t.Errorf("the volume is not mounted with mapped users: %s", mounts)
	}
	file := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~empty-dir/own/file"
	if got := b.Run(t, "stat -c %u "+file); got != "0" {
		t.Errorf("the volume's file is user %s's on the node, want root's", got)
	}
	if got := b.within(t, p, "web", "stat -c %u /own/file; cat /var/run/secrets/kubernetes.io/serviceaccount/namespace"); got != "0\ndefault" {
		t.Errorf("in the pod, the file's user and the token's namespace are %q", got)
	}
}

// profile denies writes to /refused.
const profile = `profile kl-test flags=(attach_disconnected,mediate_deleted) {
  file,
  capability,
  network,
  signal,
  ptrace,
  mount,
  deny /refused w,
}`

// TestAppArmor starts containers with the runtime's profile, with one of the node's, without, and with one that is not loaded.
func TestAppArmor(t *testing.T) {
	b := setup(t)
	if out := b.Run(t, "cat /sys/module/apparmor/parameters/enabled; apparmor_parser --version | head -n1"); !strings.HasPrefix(out, "Y") {
		t.Fatalf("AppArmor is %s", out)
	}
	b.Run(t, "cat > /run/kl-test <<'.'\n"+profile+"\n.\napparmor_parser -r /run/kl-test")
	b.later(t, "apparmor_parser -R /run/kl-test")
	with := func(kind string) string { return spec("", "securityContext: {appArmorProfile: {type: "+kind+"}}") }
	b.start(t, map[string]string{
		"armor-runtime": with("RuntimeDefault"), "armor-none": with("Unconfined"), "armor-local": with("Localhost, localhostProfile: kl-test"),
		"armor-unsaid": spec("", ""),
	})
	for name, want := range map[string]string{
		"armor-runtime": "cri-containerd.apparmor.d (enforce)", "armor-none": "runc (unconfined)", "armor-local": "kl-test (enforce)",
		"armor-unsaid": "cri-containerd.apparmor.d (enforce)", // the runtime's choice
		// Debian confines runc itself by a profile that allows all.
	} {
		if got := b.Run(t, "cat /proc/"+b.process(t, b.pod(t, name), "web")+"/attr/current"); got != want {
			t.Errorf("%s: the kernel has %q, want %q", name, got, want)
		}
	}
	if out := b.within(t, b.pod(t, "armor-local"), "web", "touch /allowed && echo fine; touch /refused"); !strings.Contains(out, "fine") || !strings.Contains(out, "Permission denied") {
		t.Errorf("a write to what the profile denies: %s", out)
	}
	t.Run("missing", func(t *testing.T) {
		b.CreateOf(t, with("Localhost, localhostProfile: kl-missing"), "armor-missing")
		b.fails(t, "armor-missing", "CreateContainerError", "apparmor", "kl-missing")
	})
}

// fails waits until the container web waits for a reason, with all of these words in its message.
func (b *bench) fails(t *testing.T, name, reason string, words ...string) {
	t.Helper()
	vmbench.Eventually(t, name+" fails", func() string {
		p := b.pod(t, name)
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Waiting == nil {
			return string(p.Status.Phase) + " " + p.Status.Message
		}
		w := p.Status.ContainerStatuses[0].State.Waiting
		for _, word := range words {
			if w.Reason != reason || !strings.Contains(w.Message, word) {
				return w.Reason + ": " + w.Message
			}
		}
		t.Logf("%s: %s", w.Reason, w.Message)
		return ""
	})
}

// TestSeccomp starts containers with the runtime's filter of system calls, with one of the node's, and without.
func TestSeccomp(t *testing.T) {
	b := setup(t)
	b.Run(t, `mkdir -p /var/lib/kubelet/seccomp && echo '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}' > /var/lib/kubelet/seccomp/no-mkdir.json`)
	with := func(kind string) string { return spec("", "securityContext: {seccompProfile: {type: "+kind+"}}") }
	b.start(t, map[string]string{"calls-runtime": with("RuntimeDefault"), "calls-local": with("Localhost, localhostProfile: no-mkdir.json"), "calls-all": with("Unconfined")})
	for name, want := range map[string]string{"calls-runtime": "2", "calls-local": "2", "calls-all": "0"} {
		if got := b.Run(t, "awk '/^Seccomp:/ {print $2}' /proc/"+b.process(t, b.pod(t, name), "web")+"/status"); got != want {
			t.Errorf("%s: the kernel has mode %s, want %s", name, got, want)
		}
	}
	const try = "mkdir /made && echo made; unshare -U true && echo unshared; true"
	if out := b.within(t, b.pod(t, "calls-local"), "web", try); strings.Contains(out, "made\n") || !strings.Contains(out, "not permitted") {
		t.Errorf("mkdir without its system call: %s", out)
	}
	if out := b.within(t, b.pod(t, "calls-runtime"), "web", try); !strings.Contains(out, "made") || strings.Contains(out, "unshared") {
		t.Errorf("the runtime's filter: %s", out)
	}
	t.Run("missing", func(t *testing.T) {
		b.CreateOf(t, with("Localhost, localhostProfile: nowhere.json"), "calls-missing")
		b.fails(t, "calls-missing", "CreateContainerError", "nowhere.json")
	})
}

package vmtest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/trace"
)

// podsDir is where the agent has the volumes of pods.
const podsDir = "/var/lib/kubelet/pods"

// TestProjectQuota has the pods' directories on an ext4 with project quota. The file system counts the emptyDir of a pod with users of its
// own, also after a restart of the agent; that of another pod is scanned. Both are evicted when they exceed their limit.
func TestProjectQuota(t *testing.T) {
	b := setup(t)
	const undo = "systemctl stop kubeloupe; umount " + podsDir + "; rm -f /data/quota.img; systemctl start kubeloupe"
	b.copy(t, ext4(t), "/data/quota.img")
	b.later(t, undo)
	b.Run(t, "systemctl stop kubeloupe; mount -o loop,prjquota /data/quota.img "+podsDir+" && rmdir "+podsDir+"/lost+found && systemctl start kubeloupe")
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	const manifest = `
apiVersion: v1
kind: Pod
metadata: {name: %%[1]s}
spec:
  nodeName: vm
  hostUsers: %t
  terminationGracePeriodSeconds: 1
  containers:
  - {name: web, image: "%%[2]s", command: [sleep, "36000"], volumeMounts: [{name: own, mountPath: /own}]}
  volumes:
  - {name: own, emptyDir: {sizeLimit: 6Mi}}
`
	sources := map[string]trace.UsageSource{"counted": trace.MeasuredByQuota, "scanned": trace.MeasuredByScan}
	b.start(t, map[string]string{"counted": fmt.Sprintf(manifest, false), "scanned": fmt.Sprintf(manifest, true)})
	t.Cleanup(func() { b.gone(t, sources) })
	for name := range sources {
		if got := b.within(t, b.pod(t, name), "web", "dd if=/dev/zero of=/own/file bs=1M count=4 2>/dev/null; sync; ls /own"); got != "file" {
			t.Fatalf("%s: %q", name, got)
		}
	}
	for name := range sources {
		vmbench.Eventually(t, "the usage of "+name, func() string {
			if used := b.volumeUsage(t, name); used < 4<<20 || used > 5<<20 {
				return fmt.Sprintf("its volume uses %d bytes, want 4 MiB", used)
			}
			return ""
		})
	}
	before := b.Run(t, pidOf)
	b.Run(t, "systemctl restart kubeloupe")
	b.restarted(t, before)
	for name := range sources {
		b.within(t, b.pod(t, name), "web", "dd if=/dev/zero of=/own/more bs=1M count=4 2>/dev/null")
	}
	for name, want := range sources {
		vmbench.Eventually(t, name+" is evicted", func() string {
			if p := b.pod(t, name); p.Status.Reason != "Evicted" || p.Status.Message != `Usage of EmptyDir volume "own" exceeds the limit "6Mi". ` {
				return fmt.Sprintf("%s: %q", p.Status.Reason, p.Status.Message)
			}
			return ""
		})
		if got := b.measured(t, name); got != want {
			t.Errorf("%s was measured by %q, want %q", name, got, want)
		}
	}
}

// ext4 makes a file system in a file: the node has no program for that.
func ext4(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "quota.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mke2fs", "-q", "-t", "ext4", "-O", "quota,project", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// copy copies a file to the node.
func (b *bench) copy(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := b.VM.Command(t.Context(), "gunzip > "+to)
	cmd.Stdin = &packed
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// volumeUsage returns what the volume of a pod uses, in bytes; 0 if that is not known yet.
func (b *bench) volumeUsage(t *testing.T, pod string) uint64 {
	t.Helper()
	var s struct {
		Pods []struct {
			PodRef struct{ Name string }
			Volume []struct {
				Name      string
				UsedBytes uint64
			}
		}
	}
	text := b.Run(t, curl+"/stats/summary")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, p := range s.Pods {
		for _, v := range p.Volume {
			if p.PodRef.Name == pod && v.Name == "own" {
				return v.UsedBytes
			}
		}
	}
	return 0
}

// measured returns how the volume was measured because of which a pod was evicted.
func (b *bench) measured(t *testing.T, pod string) trace.UsageSource {
	t.Helper()
	text := b.Run(t, "/usr/local/bin/kubeloupe events --kind decision -o json --pod default/"+pod)
	for line := range strings.Lines(text) {
		var r struct{ Event trace.Decision }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Event.By == trace.ByEviction {
			return r.Event.Measured
		}
	}
	return ""
}

// gone deletes pods and waits until nothing of them is left, so that their directories' file system can be unmounted.
func (b *bench) gone(t *testing.T, pods map[string]trace.UsageSource) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), vmbench.Deadline)
	defer cancel()
	for name := range pods {
		if out, err := b.Kubectl(ctx, "delete", "--ignore-not-found", "pod", name); err != nil {
			t.Errorf("delete: %v: %s", err, out)
		}
	}
	for ctx.Err() == nil {
		if out, err := b.VM.Run(ctx, "ls "+podsDir); err == nil && out == "" {
			return
		}
	}
	t.Error("directories of pods are left")
}

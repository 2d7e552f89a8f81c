package vmtest

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// forFiles and forProcesses are what the labels of containers' files and of their processes begin with.
const (
	forFiles     = "system_u:object_r:container_file_t:"
	forProcesses = "system_u:system_r:container_t:"
)

// namesSELinux reports whether -run names the test.
func namesSELinux() bool { return strings.Contains(flag.Lookup("test.run").Value.String(), "SELinux") }

// setupSELinux returns a bench of the test's own, whose node has SELinux, with kubeloupe as its agent. It takes a second machine, so the test
// runs only if -run names SELinux.
func setupSELinux(t *testing.T) *bench {
	t.Helper()
	if !namesSELinux() {
		t.Skip("it needs a machine of its own: make vm-test ONLY=TestSELinux")
	}
	made, err := vmbench.New(t.Output(), "", func(cfg *node.Config) {
		cfg.Agent, cfg.Disks, cfg.SELinux = node.Kubeloupe, true, true
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{made}
	if got := b.Run(t, "getenforce"); got != "Permissive" {
		t.Fatalf("SELinux is %s", got)
	}
	return b
}

// confined is a pod with volumes of all kinds that the agent makes itself, and one of the node's directories. It writes a file in each that it can
// write. level is that of its SELinux options; "" for none.
func confined(level string) string {
	options := ""
	if level != "" {
		options = "securityContext: {seLinuxOptions: {level: \"" + level + "\"}}\n  "
	}
	return spec(options+`volumes:
  - {name: disk, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: info, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: settings, configMap: {name: selinux}}
  - {name: all, projected: {sources: [{configMap: {name: selinux}}, {serviceAccountToken: {path: token}}]}}
  - {name: own, hostPath: {path: /data/own}}`,
		`volumeMounts:
    - {name: disk, mountPath: /disk}
    - {name: memory, mountPath: /memory}
    - {name: info, mountPath: /info}
    - {name: settings, mountPath: /settings}
    - {name: all, mountPath: /all}
    - {name: own, mountPath: /own}`)
}

// labels returns the labels of a pod's process, of its files and of the node's directory that it mounts, by short names.
func (b *bench) labels(t *testing.T, name string) map[string]string {
	t.Helper()
	p := b.pod(t, name)
	b.within(t, p, "web", "echo x > /disk/file; echo x > /memory/file; echo x > /own/"+name)
	pod := podsDir + "/" + string(p.UID)
	out := map[string]string{"process": strings.TrimRight(b.Run(t, "tr -d '\\0' < /proc/"+b.process(t, p, "web")+"/attr/current"), "\n")}
	text := b.Run(t, `cd `+pod+`/volumes && v='kubernetes.io~'; stat -L -c '%n %C' ${v}empty-dir/disk ${v}empty-dir/disk/file ${v}empty-dir/memory ${v}empty-dir/memory/file `+
		`${v}downward-api/info ${v}downward-api/info/name ${v}configmap/settings ${v}configmap/settings/key ${v}projected/all ${v}projected/all/key ${v}projected/all/token; `+
		`cd .. && stat -c '%n %C' etc-hosts . && stat -c 'termination-log %C' containers/web/*; stat -c '%n %C' /data/own /data/own/`+name)
	for line := range strings.Lines(strings.ReplaceAll(text, "kubernetes.io~", "")) {
		file, label, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[strings.Replace(file, name, "POD", 1)] = label
	}
	return out
}

// TestSELinux has the kernel label what pods have, and compares what each agent has it do: processes have their pod's level, files that only
// the pod uses have it too, and the node's directories keep their label. An iSCSI disk of a persistent volume is mounted with the pod's label.
func TestSELinux(t *testing.T) {
	b := setupSELinux(t)
	b.apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: selinux}, data: {key: first}}\n", "configmap/selinux")
	b.Run(t, "mkdir -p /data/own && chcon system_u:object_r:usr_t:s0 /data/own")
	got := map[node.Agent]map[string]map[string]string{}
	for _, a := range []node.Agent{node.Kubeloupe, node.Kubelet} {
		b.agent(t, a)
		pods := map[string]string{"one-" + string(a): confined("s0:c11,c22"), "other-" + string(a): confined("s0:c33,c44")}
		b.start(t, pods)
		got[a] = map[string]map[string]string{}
		for name := range pods {
			kind, _, _ := strings.Cut(name, "-")
			got[a][kind] = b.labels(t, name)
		}
	}
	for kind, level := range map[string]string{"one": "s0:c11,c22", "other": "s0:c33,c44"} {
		ours := got[node.Kubeloupe][kind]
		if diff := cmp.Diff(got[node.Kubelet][kind], ours); diff != "" {
			t.Errorf("%s (-upstream +kubeloupe):\n%s", kind, diff)
		}
		if ours["process"] != forProcesses+level {
			t.Errorf("the process of %s has the label %q", kind, ours["process"])
		}
		for _, file := range []string{
			"empty-dir/disk", "empty-dir/disk/file", "empty-dir/memory", "empty-dir/memory/file", "downward-api/info", "downward-api/info/name", "configmap/settings",
			"configmap/settings/key", "projected/all", "projected/all/key", "projected/all/token", "etc-hosts", "termination-log",
		} {
			if ours[file] != forFiles+level {
				t.Errorf("%s of %s has the label %q, want %q", file, kind, ours[file], forFiles+level)
			}
		}
		if ours["/data/own"] != "system_u:object_r:usr_t:s0" {
			t.Errorf("a directory of the node has the label %q", ours["/data/own"])
		}
	}
	t.Run("a disk is mounted with the label", func(t *testing.T) { b.mountedWithLabel(t) })
}

// labeledDisk is a persistent volume of an iSCSI disk.
const labeledDisk = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: labeled}
spec:
  capacity: {storage: 64Mi}
  accessModes: [ReadWriteOncePod]
  storageClassName: ""
  claimRef: {namespace: default, name: labeled}
  iscsi: {targetPortal: "127.0.0.1:3260", iqn: "%s", lun: 0, fsType: ext4}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: labeled}
spec:
  accessModes: [ReadWriteOncePod]
  storageClassName: ""
  volumeName: labeled
  resources: {requests: {storage: 64Mi}}
`

// mountedWithLabel has pods of each agent use a disk, one after another, with different levels.
func (b *bench) mountedWithLabel(t *testing.T) {
	iqn := b.target(t, "labeled", "")
	b.apply(t, fmt.Sprintf(labeledDisk, iqn), "pvc/labeled", "pv/labeled")
	for i, a := range []node.Agent{node.Kubelet, node.Kubeloupe} {
		b.agent(t, a)
		name, level := "disk-"+string(a), fmt.Sprintf("s0:c%d,c9", i+1)
		b.start(t, map[string]string{name: spec("securityContext: {seLinuxOptions: {level: \""+level+"\"}}\n  volumes: [{name: disk, persistentVolumeClaim: {claimName: labeled}}]", "volumeMounts: [{name: disk, mountPath: /disk}]")})
		p := b.pod(t, name)
		b.within(t, p, "web", "echo x > /disk/file; sync")
		dir := podsDir + "/" + string(p.UID) + "/volumes/kubernetes.io~iscsi/labeled"
		want := forFiles + level
		if mounts := b.Run(t, "grep kubernetes.io~iscsi /proc/self/mountinfo"); !strings.Contains(mounts, `context="`+want+`"`) && !strings.Contains(mounts, "context="+want) {
			t.Errorf("%s: the disk is not mounted with %s: %s", a, want, mounts)
		}
		if got := b.Run(t, "stat -c %C "+dir+" "+dir+"/file"); got != want+"\n"+want {
			t.Errorf("%s: the labels are %q, want %s", a, got, want)
		}
		b.ends(t, name)
	}
}

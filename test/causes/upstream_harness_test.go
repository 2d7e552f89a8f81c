package causes_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// outside is upstream's kubelet in a cluster. A scenario sees what it does by its log, as kubeloupe reads it, and asks kubeloupe why.
type outside struct {
	cluster *lab.Cluster
	client  kubernetes.Interface
	program string // kubeloupe
	agent   *lab.Agent
	level   int
	logs    []*part          // the kubelet's, and containerd's: a scenario's part of each
	made    map[string]bool  // pods, by name
	said    map[verdict]bool // of the scenario, by the kubelet's log
}

// verdict is whether a rule speaks of a pod.
type verdict struct{ pod, rule string }

// part is what was logged to a file since a scenario began, as a file of its own.
type part struct {
	log, copy string
	from      int64
}

// refresh copies what was logged so far, up to the last whole line.
func (p *part) refresh() ([]byte, error) {
	f, err := os.Open(p.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(p.from, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	return text, os.WriteFile(p.copy, text, 0o600)
}

// begin makes what is logged from now on the scenario's.
func (o *outside) begin(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	o.logs = []*part{{log: o.agent.LogFile, copy: filepath.Join(dir, "kubelet.log")}, {log: o.cluster.ContainerdLog, copy: filepath.Join(dir, "containerd.log")}}
	o.said = map[verdict]bool{}
	for _, p := range o.logs {
		st, err := os.Stat(p.log)
		if err != nil {
			t.Fatal(err)
		}
		p.from = st.Size()
	}
}

// keep writes the scenario's part of each log, compressed, to the directory KUBELOUPE_CAUSES_TO.
func (o *outside) keep(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("KUBELOUPE_CAUSES_TO")
	if dir == "" {
		return
	}
	if t.Failed() {
		name = "failed-" + name
	}
	for _, p := range o.logs {
		text, err := p.refresh()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		_, err = z.Write(text)
		err = errors.Join(err, z.Close(), os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-v%d-%s.gz", name, o.level, filepath.Base(p.copy))), b.Bytes(), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// until waits for a record of the kubelet's log.
func (o *outside) until(ctx context.Context, t *testing.T, what string, want func(*trace.Record) bool) {
	t.Helper()
	for {
		text, err := o.logs[0].refresh()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records(t, text) {
			if want(&r) {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come; the log ends with:\n%s", what, text[max(0, len(text)-4000):])
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// records are those of a log, as if it ended there.
func records(t *testing.T, text []byte) (all []trace.Record) {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	r, err := logfile.NewReader(bytes.NewReader(text), logfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src := kubeletlog.NewSource(r)
	for {
		recs, _, err := src.Next(t.Context(), make([]trace.Record, 0, 1024))
		all = append(all, recs...)
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
	}
}

// why asks kubeloupe why of a pod, from logs and other files.
func (o *outside) why(t *testing.T, pod string, from []*part, also ...string) (r why.Report) {
	t.Helper()
	if !strings.Contains(pod, "/") {
		pod = "default/" + pod
	}
	args := []string{"why", "-o", "json"}
	for _, p := range from {
		if _, err := p.refresh(); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--from", p.copy)
	}
	for _, file := range also {
		args = append(args, "--from", file)
	}
	args = append(args, "--", pod) // that of which only the UID is known begins with -/
	var said, complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), o.program, args...)
	cmd.Stdout, cmd.Stderr = &said, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubeloupe %s: %v: %s", strings.Join(args, " "), err, complaint.String())
	}
	if err := json.Unmarshal(said.Bytes(), &r); err != nil {
		t.Fatalf("kubeloupe %s: %v: %s", strings.Join(args, " "), err, said.String())
	}
	return r
}

// dump writes the pods that there are as kubectl get pods -o json does.
func (o *outside) dump(t *testing.T) (file string) {
	t.Helper()
	list, err := o.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "List"}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "pods.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// merged asks again, with containerd's log beside the kubelet's: what was said by the kubelet's alone still is, and what was not is not.
func (o *outside) merged(t *testing.T) {
	t.Helper()
	for v, spoke := range o.said {
		all := o.why(t, v.pod, o.logs).Findings
		if i := slices.IndexFunc(all, func(f cause.Finding) bool { return f.ID == v.rule }); spoke != (i >= 0) {
			t.Errorf("with containerd's log, %s of %s: spoke %v before; now %+v", v.rule, v.pod, spoke, all)
		}
	}
}

// place makes pods what there is of the scenario's.
func (o *outside) place(t *testing.T, pods []*v1.Pod) {
	t.Helper()
	api := o.client.CoreV1().Pods("default")
	keep := map[string]bool{}
	for _, p := range pods {
		keep[p.Name] = true
		if o.made[p.Name] {
			continue
		}
		if _, err := api.Create(t.Context(), o.dress(p), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		o.made[p.Name] = true
	}
	for name := range o.made {
		if keep[name] {
			continue
		}
		if err := api.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		delete(o.made, name)
	}
}

// clear deletes all pods, and waits until they are gone.
func (o *outside) clear(t *testing.T) {
	t.Helper()
	o.place(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		list, err := o.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) == 0 {
			return
		}
		for i := 0; err == nil && i < len(list.Items); i++ {
			p := &list.Items[i]
			if p.DeletionTimestamp == nil {
				err = o.client.CoreV1().Pods("default").Delete(ctx, p.Name, metav1.DeleteOptions{})
			}
			if len(p.Finalizers) > 0 { // of a scenario that failed
				_, err = o.client.CoreV1().Pods("default").Patch(ctx, p.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the scenario's pods do not go (%v)", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// dress makes a simulated runtime's pod one for this node: its image is the lab's, and it does something.
func (o *outside) dress(p *v1.Pod) *v1.Pod {
	p = p.DeepCopy()
	bound(p)
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			c := &list[i]
			c.Image = o.ref(c.Image)
			if len(c.Command) == 0 {
				c.Command = idle()
			}
		}
	}
	return p
}

// idle is a command that ends when it is told to.
func idle() []string { return []string{"sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait"} }

// bound makes a pod one for this node, and no longer than it has to be.
func bound(p *v1.Pod) {
	p.UID = ""
	p.Spec.NodeName = lab.NodeName
	if p.Spec.TerminationGracePeriodSeconds == nil || *p.Spec.TerminationGracePeriodSeconds == v1.DefaultTerminationGracePeriodSeconds {
		p.Spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	p.Spec.AutomountServiceAccountToken = new(false)
	p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
}

// ref is the lab's image for one of the simulated runtime's.
func (o *outside) ref(image string) string {
	switch image {
	case "app:1":
		return o.cluster.Image(lab.ImageBusybox)
	case "far:1":
		return o.cluster.Image(lab.Image60M)
	case "there/is:none":
		return o.cluster.Registry + "/" + image
	}
	return image
}

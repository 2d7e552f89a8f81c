package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// mark begins every secret of this test, and nothing else.
const mark = "klcanary"

// canary makes a secret that says by which way it got out.
func canary(way string) string { return mark + way + rand.String(10) }

// TestCanary starts pods that use secrets in every way there is, asks the agent everything that it answers, and looks
// for the secrets in all that it says and writes, plain, quoted, in base64 and in hexadecimal.
//
// What is literally in a pod's manifest, and what a container itself writes to its log or as its last words, is no
// secret of the agent's.
func TestCanary(t *testing.T) {
	b := setup(t)
	b.alone(t)
	c := &canaries{t: t, found: map[string]bool{}}
	web := c.manifests(canary("header"))
	registry := c.registry()
	config, err := b.WriteKubeletConfig("canary", func(k map[string]any) {
		k["staticPodURL"] = strings.Replace(web.URL, "http://", "http://"+canary("user")+":"+canary("password")+"@", 1) + "/pods?token=" + canary("query")
		k["staticPodURLHeader"] = map[string][]string{"X-Auth": {c.header}}
		k["httpCheckFrequency"] = "1s"
	})
	must(t, err)
	dir := t.TempDir()
	bins, providers := c.provider(dir, registry)
	recording := filepath.Join(dir, "rec.klr")
	a := b.start(t, lab.AgentConfig{State: "canary", KubeletConfig: config, Args: []string{
		"--image-credential-provider-bin-dir=" + bins, "--image-credential-provider-config=" + providers, "--record=" + recording,
	}})
	c.agent, c.bench = a, b
	a.ready()
	c.csi()
	s := b.space(t)
	c.secrets(s, registry)
	s.create(c.pods(registry)...)

	// Everything has happened that tells of a secret.
	own := &space{bench: b, t: t, name: "default"}
	own.ready("web-" + lab.NodeName)
	eventually(t, "the main pod runs", func() string {
		p, err := s.get("ways")
		if err == nil && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil {
			return ""
		}
		return "not yet"
	})
	for pod, said := range map[string]string{
		"ways": "Unhealthy", "command": "exec: ", "hook": "FailedPostStartHook", "csi": "refuses", "pull": "Failed to pull", "provided": "Failed to pull",
	} {
		eventually(t, pod+": "+said, func() string {
			out, err := b.Kubectl(t.Context(), "-n", s.name, "get", "events", "--field-selector", "involvedObject.name="+pod, "-o", "json")
			if err != nil || !strings.Contains(out, said) {
				return out
			}
			return ""
		})
	}
	web.Close()
	eventually(t, "that the manifests are gone", func() string {
		if out := a.said(); !strings.Contains(out, "source.error") {
			return "no source.error"
		}
		return ""
	})
	if out, err := b.Kubectl(t.Context(), "-n", s.name, "exec", "ways", "--", "echo", canary("exec")); err != nil || !strings.Contains(out, mark) {
		t.Fatalf("exec: %v %s", err, out)
	}
	c.everything(s, recording)
	a.stop()
	for name := range map[string]bool{"ways": true, "csi": true} {
		if !strings.Contains(a.said(), name) {
			t.Errorf("the agent's records say nothing of %s: what was looked at?", name)
		}
	}
}

// canaries looks for secrets.
type canaries struct {
	t      *testing.T
	agent  *agent
	bench  *bench
	header string
	found  map[string]bool
}

// needles are the ways to write mark that tools have.
var needles = func() (out []string) {
	for shift := range 3 { // where it may begin in base64
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", shift) + mark))
		from := (shift*8 + 5) / 6
		out = append(out, text[from:from+(len(mark)*8-6)/6-1])
	}
	return append(out, mark, hex.EncodeToString([]byte(mark)), strings.ToUpper(hex.EncodeToString([]byte(mark))), "#7x")
}()

var word = regexp.MustCompile(mark + "[a-z0-9]*")

// look fails the test when a secret is in what somebody may read.
func (c *canaries) look(where string, text []byte) {
	c.t.Helper()
	for _, n := range needles {
		i := bytes.Index(text, []byte(n))
		if i < 0 || c.found[where+n] {
			continue
		}
		c.found[where+n] = true
		which := ""
		for _, w := range word.FindAllString(string(text), -1) {
			if way := strings.TrimPrefix(w, mark); !strings.Contains(which, way[:min(4, len(way))]) {
				which += " " + way
			}
		}
		c.t.Errorf("%s has a secret (%s;%s): ...%s...", where, n, which, text[max(0, i-150):min(len(text), i+60)])
	}
}

// ask looks at what a command of the program says.
func (c *canaries) ask(s *space, args ...string) string {
	c.t.Helper()
	out, err := c.run(args...)
	if err != nil && !strings.Contains(strings.Join(args, " "), "why") {
		c.t.Errorf("%v: %v\n%s", args, err, out)
	}
	c.look(strings.ReplaceAll(strings.Join(args, " "), s.name, "NS"), []byte(out))
	return out
}

// everything asks everything.
func (c *canaries) everything(s *space, recording string) {
	c.t.Helper()
	t, dir := c.t, c.t.TempDir()
	socket := "--socket=" + filepath.Join(c.agent.RootDir, "kubeloupe.sock")
	c.ask(s, "events", socket, "-o", "json")
	c.ask(s, "events", socket, "-o", "wide")
	subjects := []string{"pods", "workers", "loop", "cri", "images", "gc", "volumes", "cgroup", "node", "config"}
	for _, subject := range subjects {
		for _, format := range []string{"json", "yaml", "wide"} {
			c.ask(s, "inspect", subject, socket, "-o", format)
		}
	}
	more := filepath.Join(dir, "live.klr")
	c.ask(s, "record", more, socket, "--for", "2s")
	for _, pod := range []string{"ways", "command", "hook", "csi", "pull", "provided"} {
		full := s.name + "/" + pod
		c.ask(s, "inspect", "pod", full, socket, "-o", "json")
		c.ask(s, "why", full, socket, "-o", "json")
		c.ask(s, "why", full, socket)
		for _, format := range []string{"text", "json", "svg", "html", "markdown", "perfetto", "otlp-json"} {
			to := filepath.Join(dir, pod+"."+format)
			if out, err := c.run("trace", full, socket, "-o", format, "--to", to); err != nil {
				c.look("trace "+pod, []byte(out)) // some have not started
				continue
			}
			c.file("trace "+pod+" -o "+format, to)
		}
	}
	for _, format := range []string{"perfetto", "otlp", "otlp-json"} {
		to := filepath.Join(dir, "session."+format)
		c.ask(s, "trace", "-o", format, "--to", to, "--from", recording)
		c.file("the session as "+format, to)
	}
	c.ask(s, "why", "--all", socket)
	c.ask(s, "trace", "--all", socket)
	c.ask(s, "events", "--from", recording, "-o", "json") // its chunks are compressed
	c.ask(s, "events", "--from", more, "-o", "json")
	c.file("the recording", recording)
	c.step(s, socket)
	c.servers()
	for _, pod := range []string{"ways", "command", "hook", "csi", "pull", "provided"} {
		p, err := s.get(pod)
		must(t, err)
		c.look("the status of "+pod, []byte(p.Status.String()))
	}
	out, err := c.bench.Kubectl(t.Context(), "get", "events", "-A", "-o", "json")
	must(t, err)
	c.look("Kubernetes Events", []byte(out))
	c.look("what the agent printed", []byte(c.agent.said()))
	c.files(c.agent.RootDir)
}

// step holds a pod while it is made again, and prints all that can be printed.
func (c *canaries) step(s *space, socket string) {
	c.t.Helper()
	script := filepath.Join(c.t.TempDir(), "script")
	must(c.t, os.WriteFile(script, []byte("b create main\nc\np\np pod\np status\ns\np\nn\ni\ndiff start\nwhere\nuntil started\np\np pod\np status\nq\n"), 0o600))
	stepped := pod("stepped", forever)
	stepped.Spec.Containers[0].Env, stepped.Spec.Containers[0].Args = c.env(), []string{"$(DATABASE_URL)", "--pin=$(PIN)"}
	done := make(chan string)
	go func() {
		out, _ := c.run("step", "--pod", s.name+"/stepped", "--creation", socket, "--script", script, "--transcript", script+".log")
		done <- out
	}()
	eventually(c.t, "a session", func() string {
		if out, _ := c.run("inspect", "pods", socket, "-o", "json"); out != "" {
			return ""
		}
		return "none"
	})
	s.create(stepped)
	out := <-done
	if !strings.Contains(out, "CreateContainerRequest") || !strings.Contains(out, "[redacted]@db") {
		c.t.Errorf("step shows no request: %s", out)
	}
	c.look("step", []byte(out))
	c.file("the transcript", script+".log")
}

// servers asks the agent's own HTTP servers, by way of the API server.
func (c *canaries) servers() {
	c.t.Helper()
	for _, path := range []string{
		"configz", "healthz", "metrics", "metrics/cadvisor", "metrics/probes", "metrics/resource", "metrics/slis", "pods", "runningpods/", "stats/summary",
		"statusz", "flagz", "debug/pprof/goroutine?debug=2", "debug/pprof/heap?debug=1", "debug/pprof/cmdline",
	} {
		out, err := c.bench.Kubectl(c.t.Context(), "get", "--raw", "/api/v1/nodes/"+lab.NodeName+"/proxy/"+path)
		if err != nil {
			c.t.Logf("%s: %v", path, err)
		}
		c.look("/"+path, []byte(out))
	}
}

// files looks at all that the agent wrote, but for what containers are to read.
func (c *canaries) files(root string) {
	c.t.Helper()
	meant := regexp.MustCompile(`/pods/[^/]+/(volumes/kubernetes.io~(secret|projected|empty-dir)|volume-subpaths)/`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || meant.MatchString(path) {
			return nil
		}
		c.file(strings.TrimPrefix(path, root), path)
		return nil
	})
	must(c.t, err)
}

func (c *canaries) file(where, path string) {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Errorf("%s: %v", where, err)
		return
	}
	c.look(where, text)
}

// secrets makes the objects.
func (c *canaries) secrets(s *space, registry string) {
	c.t.Helper()
	login := base64.StdEncoding.EncodeToString([]byte(canary("puller") + ":" + canary("pullpw")))
	for _, secret := range []*v1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{
			"key": canary("key"), "dir": canary("dir"), "pin": "#7x", "prog": canary("prog"), "print": canary("print"),
			"odd": canary("odd") + "\"quoted\"\\&<>\nand a second line " + canary("line") + "\n", "file": "[db]\npassword = " + canary("file") + "\n",
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "all"}, StringData: map[string]string{"MYSQL_PWD": canary("mysql"), "ENCRYPTION_KEY": canary("encryption")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "login"}, Type: v1.SecretTypeDockerConfigJson, StringData: map[string]string{
			v1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, registry+"/private", login),
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "csi"}, StringData: map[string]string{"password": canary("csi")}},
	} {
		_, err := s.client.CoreV1().Secrets(s.name).Create(c.t.Context(), secret, metav1.CreateOptions{})
		must(c.t, err)
	}
}

func fromKey(key string) *v1.EnvVarSource {
	return &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "s"}, Key: key}}
}

// env is an environment with secrets under innocent names.
func (c *canaries) env() []v1.EnvVar {
	return []v1.EnvVar{
		{Name: "KEY", ValueFrom: fromKey("key")},
		{Name: "DATABASE_URL", Value: "pg://app:$(KEY)@db"},
		{Name: "DIR", ValueFrom: fromKey("dir")},
		{Name: "PIN", ValueFrom: fromKey("pin")},
		{Name: "ODD", ValueFrom: fromKey("odd")},
		{Name: "PROG", ValueFrom: fromKey("prog")},
		{Name: "PRINT", ValueFrom: fromKey("print")},
	}
}

// pods are those that use the secrets.
func (c *canaries) pods(registry string) []*v1.Pod {
	ways := pod("ways", forever)
	main := &ways.Spec.Containers[0]
	main.Env = c.env()
	main.EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "all"}}}}
	main.Args = []string{"$(DATABASE_URL)", "--odd=$(ODD)", "--pin=$(PIN)"}
	main.ReadinessProbe = &v1.Probe{PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{
		Command: []string{"sh", "-c", "echo $PRINT; echo $ODD >&2; exit 1"},
	}}}
	main.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "echo $PRINT"}}}}
	main.VolumeMounts = []v1.VolumeMount{
		{Name: "data", MountPath: "/data", SubPathExpr: "$(DIR)"}, {Name: "secret", MountPath: "/secret"}, {Name: "both", MountPath: "/both"},
	}
	ways.Spec.Volumes = []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "secret", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s"}}},
		{Name: "both", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{Secret: &v1.SecretProjection{LocalObjectReference: v1.LocalObjectReference{Name: "all"}}},
			{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}},
		}}}},
	}
	command := pod("command", "")
	command.Spec.Containers[0].Env, command.Spec.Containers[0].Command = c.env(), []string{"$(PROG)"}
	hook := pod("hook", forever)
	hook.Spec.Containers[0].Env = c.env()
	hook.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{
		Command: []string{"sh", "-c", "echo $PRINT; echo $KEY >&2; exit 3"},
	}}}
	inline := pod("csi", forever)
	inline.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v"}}
	inline.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{
		Driver: canaryDriver, NodePublishSecretRef: &v1.LocalObjectReference{Name: "csi"},
	}}}}
	pull := pod("pull", forever)
	pull.Spec.Containers[0].Image = registry + "/private/image:1"
	pull.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "login"}}
	provided := pod("provided", forever)
	provided.Spec.Containers[0].Image = registry + "/provided/image:1"
	return []*v1.Pod{ways, command, hook, inline, pull, provided}
}

// run runs the program.
func (c *canaries) run(args ...string) (string, error) {
	return runProgram(context.WithoutCancel(c.t.Context()), c.bench.binary, args...)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

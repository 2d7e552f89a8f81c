package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// command is kubectl with the test's namespace, for what has input or does not end.
func (s *space) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Program("kubectl"), append([]string{"-n", s.name}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig)
	return cmd
}

// TestKubectl asks of a pod what people ask.
func TestKubectl(t *testing.T) {
	b := setup(t)
	b.node(t)
	s := b.space(t)
	talk := pod("talk", "echo first; i=0; while :; do echo line $i; i=$((i+1)); sleep 0.2; done")
	web := v1.Container{Name: "web", Image: agnhost, Args: []string{"netexec"}}
	talk.Spec.Containers = append(talk.Spec.Containers, web)
	fall := pod("fall", "echo before; if [ -e /data/x ]; then sleep 1000; fi; touch /data/x; exit 3")
	fall.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	fall.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	echo := pod("echo", "read -r line; echo got $line; sleep 1000")
	echo.Spec.Containers[0].Stdin = true
	s.create(talk, fall, echo)
	s.ready("talk", "echo")
	s.wait("fall", "a restart", func(p *v1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount == 1 && isReady(p) })

	t.Run("logs", func(t *testing.T) {
		s := &space{bench: b, t: t, name: s.name}
		eventually(t, "the first lines", func() string {
			if out := s.kubectl("logs", "talk", "-c", "main"); !strings.HasPrefix(out, "first\nline 0\n") {
				return fmt.Sprintf("logs: %.40q", out)
			}
			return ""
		})
		if out := s.kubectl("logs", "talk", "-c", "main", "--tail=2"); strings.Count(out, "\n") != 1 {
			t.Errorf("two lines: %q", out)
		}
		time.Sleep(6 * time.Second) // on a busy machine it may say nothing for a second or two
		if out := s.kubectl("logs", "talk", "-c", "main", "--since=5s"); strings.Contains(out, "first") || !strings.Contains(out, "line") {
			t.Errorf("logs of the last seconds: %q", out)
		}
		if out := s.kubectl("logs", "fall", "--previous"); out != "before" {
			t.Errorf("logs of before the restart: %q", out)
		}
		if out, err := s.Kubectl(t.Context(), "-n", s.name, "logs", "talk", "--previous", "-c", "main"); err == nil || !strings.Contains(out, `previous terminated container "main" in pod "talk" not found`) {
			t.Errorf("logs before a restart that never was: %v, %s", err, out)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		follow := s.command(ctx, "logs", "-f", "--tail=1", "talk", "-c", "main")
		out, err := follow.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := follow.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 4 {
			if !lines.Scan() || !strings.HasPrefix(lines.Text(), "line ") {
				t.Fatalf("followed logs: %q, %v", lines.Text(), lines.Err())
			}
		}
		cancel()
		_ = follow.Wait()
	})
	t.Run("exec", func(t *testing.T) {
		s := &space{bench: b, t: t, name: s.name}
		cmd := s.command(t.Context(), "exec", "-i", "talk", "-c", "main", "--", "sh", "-c", "cat; echo bad >&2; exit 7")
		cmd.Stdin = strings.NewReader("hello\n")
		var out, bad bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &bad
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 7 || out.String() != "hello\n" || !strings.HasPrefix(bad.String(), "bad\n") {
			t.Errorf("exit %d, stdout %q, stderr %q", code, &out, &bad)
		}
		// script(1) gives kubectl a terminal.
		tty := exec.CommandContext(t.Context(), "script", "-qec", s.Program("kubectl")+" --kubeconfig "+s.Kubeconfig+" -n "+s.name+" exec -it talk -c main -- tty", "/dev/null")
		if out, err := tty.CombinedOutput(); err != nil || !strings.Contains(string(out), "/dev/pts/") {
			t.Errorf("with a terminal: %s, %v", out, err)
		}
	})
	t.Run("attach", func(t *testing.T) {
		s := &space{bench: b, t: t, name: s.name}
		ctx, cancel := context.WithCancel(t.Context())
		cmd := s.command(ctx, "attach", "-i", "echo")
		cmd.Stdin = strings.NewReader("you\n")
		attached := make(chan struct{})
		go func() {
			defer close(attached)
			_, _ = cmd.CombinedOutput() // it continues until the container ends
		}()
		defer func() { cancel(); <-attached }()
		eventually(t, "what was sent", func() string {
			if out := s.kubectl("logs", "echo"); !strings.Contains(out, "got you") {
				return "logs: " + out
			}
			return ""
		})
	})
	t.Run("cp", func(t *testing.T) {
		s := &space{bench: b, t: t, name: s.name}
		here, back := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "back")
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // a MiB
		if err := os.WriteFile(here, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s.kubectl("cp", here, "talk:/tmp/there", "-c", "main")
		s.kubectl("cp", "talk:/tmp/there", back, "-c", "main")
		if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back, %v", len(got), err)
		}
	})
	t.Run("port-forward", func(t *testing.T) {
		s := &space{bench: b, t: t, name: s.name}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cmd := s.command(ctx, "port-forward", "pod/talk", "18080:8080")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "an answer", func() string {
			resp, err := http.Get("http://127.0.0.1:18080/hostname")
			if err != nil {
				return err.Error()
			}
			defer func() { _ = resp.Body.Close() }()
			if body, _ := io.ReadAll(resp.Body); string(body) != "talk" {
				return string(body)
			}
			return ""
		})
		cancel()
		_ = cmd.Wait()
	})
	t.Run("debug", func(t *testing.T) {
		s := &space{bench: b, t: t, name: s.name}
		s.kubectl("debug", "talk", "--profile=general", "--image="+busybox, "--target=web", "-c", "dbg", "--", "sh", "-c", "tr '\\0' ' ' </proc/1/cmdline")
		eventually(t, "what the ephemeral container said", func() string {
			if out, err := s.Kubectl(t.Context(), "-n", s.name, "logs", "talk", "-c", "dbg"); err != nil || !strings.Contains(out, "agnhost netexec") {
				return out
			}
			return ""
		})
	})
	t.Run("describe", func(t *testing.T) {
		s := &space{bench: b, t: t, name: s.name}
		for _, reason := range []string{"Pulled", "Created", "Started"} {
			s.event("talk", reason)
		}
		if out := s.kubectl("describe", "pod", "fall"); !strings.Contains(out, "Exit Code:    3") || !strings.Contains(out, "kubelet, "+lab.NodeName) && !strings.Contains(out, "kubelet ") {
			t.Errorf("describe: %s", out)
		}
	})
	t.Run("proxy", func(t *testing.T) { testProxy(t, s) })
	t.Run("access", func(t *testing.T) { testAccess(t, s) })
	s.kubectl("delete", "pod", "talk", "fall", "echo", "--force", "--grace-period=0")
	s.gone()
}

// testProxy asks the agent's server through the API server.
func testProxy(t *testing.T, s *space) {
	for path, want := range map[string]string{
		"healthz":          "ok",
		"configz":          `"kubeletconfig"`,
		"stats/summary":    `"podRef"`,
		"metrics":          "kubelet_running_pods",
		"metrics/resource": "container_memory_working_set_bytes",
		"metrics/cadvisor": "container_cpu_usage_seconds_total",
		"metrics/probes":   "",
		"pods":             `"PodList"`,
		"runningpods/":     `"PodList"`,
	} {
		out, err := s.Kubectl(t.Context(), "get", "--raw", "/api/v1/nodes/"+lab.NodeName+"/proxy/"+path)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %s in %.200s", path, err, want, out)
		}
		if want != `"PodList"` {
			continue
		}
		var list v1.PodList
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) < 3 {
			t.Errorf("%s: %d pods, %v", path, len(list.Items), err)
		}
	}
}

// testAccess asks the agent's server without the rights.
func testAccess(t *testing.T, s *space) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	token, err := s.client.CoreV1().ServiceAccounts(s.name).CreateToken(t.Context(), "default", &authentication.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		token, path string
		code        int
	}{
		{"", "pods", http.StatusUnauthorized},
		{"wrong", "pods", http.StatusUnauthorized},
		{token.Status.Token, "pods", http.StatusForbidden},
		{token.Status.Token, "exec/default/x/y", http.StatusForbidden},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://%s:%d/%s", s.NodeIP, s.KubeletPort, test.path), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if test.token != "" {
			req.Header.Set("Authorization", "Bearer "+test.token)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != test.code {
			t.Errorf("%s with token %.5q: %s, want %d", test.path, test.token, resp.Status, test.code)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/proxy/guard"
	"github.com/kubeloupe/kubeloupe/inspect/proxy/install"
)

// machine is a node with systemd, as far as an installation sees it.
type machine struct {
	*installation
	dir, config string
	out         *bytes.Buffer
	ran         []string
	fails       string // the command that fails
	dead        bool   // the proxy does not come up
}

const kubeletConfig = "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: unix://RUNTIME\nfailSwapOn: false\n"

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir(), out: &bytes.Buffer{}}
	m.config = filepath.Join(m.dir, "config.yaml")
	m.installation = newInstallation(streams{in: strings.NewReader(""), out: m.out, err: m.out})
	m.units, m.tmpfiles, m.installation.dir = filepath.Join(m.dir, "units"), filepath.Join(m.dir, "tmpfiles.d"), filepath.Join(m.dir, "run")
	m.configs, m.kubelet, m.program, m.yes, m.patience = []string{filepath.Join(m.dir, "none"), m.config}, "kubelet.service", "/usr/bin/kubeloupe", true, 100*time.Millisecond
	m.installation.systemctl = m.systemctl
	if err := os.Mkdir(m.units, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", m.socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.WriteFile(m.config, []byte(m.filled()), 0o640); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) socket() string { return filepath.Join(m.dir, "c.sock") }
func (m *machine) link() string   { return filepath.Join(m.dir, "run", "c.sock") }
func (m *machine) filled() string { return strings.ReplaceAll(kubeletConfig, "RUNTIME", m.socket()) }

// systemctl does what the unit would do: the proxy turns the link.
func (m *machine) systemctl(_ context.Context, args ...string) error {
	line := strings.Join(args, " ")
	m.ran = append(m.ran, line)
	switch {
	case m.fails != "" && strings.HasPrefix(line, m.fails):
		m.fails = ""
		return errors.New("systemctl " + line + ": exit status 1")
	case strings.HasPrefix(line, "enable --now") && !m.dead:
		return guard.Turn(m.link(), filepath.Join(m.dir, "run", "cri.sock"))
	case strings.HasPrefix(line, "disable --now"):
		return guard.Turn(m.link(), m.socket())
	}
	return nil
}

// is checks what the kubelet has, whether there is a unit, and where the link leads.
func (m *machine) is(t *testing.T, endpoint string, unit bool, leads string) {
	t.Helper()
	p, err := os.ReadFile(m.config)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(m.filled(), m.socket(), endpoint); string(p) != want {
		t.Errorf("the kubelet has %q, want %q", p, want)
	}
	if info, err := os.Stat(m.config); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its file: %v, %v", info.Mode(), err)
	}
	for _, f := range []string{m.unitFile(), m.tmpfilesFile()} {
		if _, err := os.Stat(f); (err == nil) != unit {
			t.Errorf("%s: %v", f, err)
		}
	}
	if to, err := guard.Leads(m.link()); to != leads {
		t.Errorf("the link leads to %q (%v), want %s", to, err, leads)
	}
}

// Installed and removed, all is as it was; the kubelet is restarted once each time.
func TestInstall(t *testing.T) {
	m := newMachine(t)
	if err := m.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.is(t, m.link(), true, filepath.Join(m.dir, "run", "cri.sock"))
	if want := []string{"daemon-reload", "enable --now " + install.Unit, "restart kubelet.service"}; !slices.Equal(m.ran, want) {
		t.Errorf("ran %q", m.ran)
	}
	for _, want := range []string{"restart kubelet.service once", m.config} {
		if !strings.Contains(m.out.String(), want) {
			t.Errorf("it does not say %q: %s", want, m.out)
		}
	}
	if err := m.install(t.Context()); err == nil || !strings.Contains(err.Error(), "uses the proxy already") {
		t.Errorf("again: %v", err)
	}
	if err := m.status(t.Context()); err == nil || !strings.Contains(err.Error(), "kubeloupe proxy bypass --runtime "+m.socket()+" --endpoint "+m.link()) {
		t.Errorf("the status of a proxy that does not listen: %v", err)
	}
	l, err := net.Listen("unix", filepath.Join(m.installation.dir, "cri.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m.out.Reset()
	if err := m.status(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{": active", "leads to the proxy", m.config + " has " + m.link(), "connections  0"} {
		if !strings.Contains(m.out.String(), want) {
			t.Errorf("the status does not say %q:\n%s", want, m.out)
		}
	}
	m.ran = nil
	if err := m.uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.is(t, m.socket(), false, "")
	if want := []string{"restart kubelet.service", "disable --now " + install.Unit, "daemon-reload"}; !slices.Equal(m.ran, want) {
		t.Errorf("ran %q", m.ran)
	}
	if err := m.uninstall(t.Context()); err == nil || !strings.Contains(err.Error(), "no proxy is installed") {
		t.Errorf("again: %v", err)
	}
}

// What fails is undone, and the kubelet keeps the endpoint that it had.
func TestInstallFails(t *testing.T) {
	for name, set := range map[string]func(*machine){
		"the unit is refused":         func(m *machine) { m.fails = "enable" },
		"the proxy does not run":      func(m *machine) { m.dead = true },
		"the kubelet does not":        func(m *machine) { m.fails = "restart" },
		"systemd cannot be asked":     func(m *machine) { m.fails = "daemon-reload" },
		"nobody agreed":               func(m *machine) { m.yes = false },
		"the runtime is not there":    func(m *machine) { m.runtime = filepath.Join(m.dir, "none.sock") },
		"the kubelet has another one": func(m *machine) { m.runtime = m.config },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			set(m)
			if err := m.install(t.Context()); err == nil {
				t.Fatal("no error")
			}
			asked := name != "nobody agreed" && !strings.HasPrefix(name, "the runtime") && name != "the kubelet has another one"
			leads := ""
			if asked {
				leads = m.socket()
			}
			m.is(t, m.socket(), false, leads)
		})
	}
}

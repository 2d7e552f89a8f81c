package certs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// saw returns the certificate events in short form: use, cause, source, file, names. It checks that nothing secret was
// published.
func saw(t *testing.T, rec *tracetest.Recorder) []string {
	t.Helper()
	var out []string
	for _, e := range tracetest.Events[trace.Certificate](rec) {
		text, err := json.Marshal(e)
		if err != nil || strings.Contains(string(text), "PRIVATE") || strings.Contains(string(text), "abc.def") {
			t.Errorf("%s %v", text, err)
		}
		if e.None != "" {
			out = append(out, string(e.Use)+": "+e.None)
			continue
		}
		if e.Serial == "" || e.NotAfter.IsZero() || !e.NotBefore.Before(e.NotAfter) {
			t.Errorf("no serial, or no time: %s", text)
		}
		if life := e.NotAfter.Sub(e.NotBefore); !e.Renew.IsZero() && (e.Renew.Before(e.NotBefore.Add(life*7/10-time.Second)) || e.Renew.After(e.NotBefore.Add(life*9/10))) {
			t.Errorf("renewed at an odd time: %s", text)
		}
		out = append(out, strings.Join(append([]string{string(e.Use), string(e.Cause), string(e.Source), filepath.Base(e.Path), e.Name}, e.Names...), " "))
	}
	return out
}

func runFor(t *testing.T, c *ClientCerts, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, func() {}) }()
	time.Sleep(d) //nolint:forbidigo // the bubble's
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestClientIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, rec := setup(t, a)
		c, err := Client(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		runFor(t, c, 55*time.Minute)
		if c, err = Client(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		runFor(t, c, time.Second)
		const mine = " csr kubelet-client-current.pem system:node:lab-1"
		if d := cmp.Diff([]string{"client bootstrap" + mine, "client renewed" + mine, "client start" + mine}, saw(t, rec)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if d := tracetest.Events[trace.Decision](rec); len(d) != 2 || d[1].By != trace.ByCerts || d[1].Verdict != trace.VerdictRenew {
			t.Errorf("decisions %+v", d)
		}
		told := tracetest.Events[trace.Certificate](rec)
		if told[0].Serial == told[1].Serial || told[1].Serial != told[2].Serial || told[2].Renew.IsZero() {
			t.Errorf("%+v", told)
		}
	})
}

// Without rotation, a kubeconfig's own certificate is used unchanged; with rotation, it is replaced at once.
func TestClientOfKubeconfigIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, _ := setup(t, a)
		if _, err := Client(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		own := filepath.Join(filepath.Dir(cfg.Kubeconfig), "own.pem") // an administrator's own certificate
		if err := os.Rename(filepath.Join(cfg.Dir, "kubelet-client-current.pem"), own); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(cfg.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		moved := strings.ReplaceAll(string(text), filepath.Join(cfg.Dir, "kubelet-client-current.pem"), own)
		if err := os.WriteFile(cfg.Kubeconfig, []byte(moved), 0o600); err != nil {
			t.Fatal(err)
		}
		rec := tracetest.New(t)
		cfg.Bus, cfg.BootstrapKubeconfig, cfg.Rotate = rec.Bus(), "", false
		if _, err := Client(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Rotate = true
		c, err := Client(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		runFor(t, c, 55*time.Minute)
		const name, start = " system:node:lab-1", "client start " + string(trace.CertificateKubeconfig) + " own.pem system:node:lab-1"
		want := []string{start, start, "client renewed csr kubelet-client-current.pem" + name}
		if d := cmp.Diff(want, saw(t, rec)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if told := tracetest.Events[trace.Certificate](rec); !told[0].Renew.IsZero() || told[1].Renew.IsZero() {
			t.Errorf("%+v", told)
		}
	})
}

// If the certificate in the store has expired, the kubeconfig's own is used and replaced at once: somebody may have put it there for that.
func TestExpiredInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, _ := setup(t, a)
		if _, err := Client(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // the bubble's
		cert, key := pair(t, "system:node:lab-1")
		own := strings.NewReplacer("user: {token: abc.def}", "user: {client-certificate-data: "+base64.StdEncoding.EncodeToString(cert)+", client-key-data: "+base64.StdEncoding.EncodeToString(key)+"}")
		if err := os.WriteFile(cfg.Kubeconfig, []byte(own.Replace(bootKubeconfig)), 0o600); err != nil {
			t.Fatal(err)
		}
		rec := tracetest.New(t)
		cfg.Bus, cfg.BootstrapKubeconfig = rec.Bus(), ""
		c, err := Client(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		runFor(t, c, time.Minute)
		told := tracetest.Events[trace.Certificate](rec)
		if len(told) != 2 || told[0].Source != trace.CertificateKubeconfig || told[1].Source != trace.CertificateCSR {
			t.Errorf("%+v", told)
		}
	})
}

func TestTokenIsTold(t *testing.T) {
	path, rec := filepath.Join(t.TempDir(), "kubeconfig"), tracetest.New(t)
	if err := os.WriteFile(path, []byte(bootKubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Client(t.Context(), ClientConfig{Kubeconfig: path, Rotate: true, Bus: rec.Bus()}); err != nil {
		t.Fatal(err)
	}
	if got := saw(t, rec); len(got) != 1 || !strings.HasPrefix(got[0], "client: the kubeconfig has none") {
		t.Errorf("%q", got)
	}
}

func TestSignedServingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, rec := newAuthority(t, time.Hour), tracetest.New(t)
		var addresses atomic.Pointer[[]v1.NodeAddress]
		addresses.Store(&[]v1.NodeAddress{{Type: v1.NodeHostName, Address: "lab-1"}})
		s, err := NewServing(ServingConfig{
			Bootstrap: true, Dir: t.TempDir(), NodeName: "lab-1", Client: fakeapi.Of(a), Bus: rec.Bus(), Addresses: func() []v1.NodeAddress { return *addresses.Load() },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		for _, ip := range []string{"10.0.0.5", "10.0.0.6"} {
			synctest.Wait()
			addresses.Store(&[]v1.NodeAddress{{Type: v1.NodeHostName, Address: "lab-1"}, {Type: v1.NodeInternalIP, Address: ip}})
			s.Changed()
			time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's
		}
		cancel()
		<-done
		const mine = " csr kubelet-server-current.pem system:node:lab-1 lab-1 "
		const signed, renewed = "serving " + string(trace.CertificateSigned) + mine, "serving " + string(trace.CertificateRenewed) + mine
		got := saw(t, rec)
		if len(got) != 3 || !strings.HasPrefix(got[0], "serving: none yet") || got[1] != signed+"10.0.0.5" || got[2] != renewed+"10.0.0.6" {
			t.Errorf("%q", got)
		}
	})
}

func TestServingFilesAreTold(t *testing.T) {
	dir, rec := t.TempDir(), tracetest.New(t)
	if _, err := NewServing(ServingConfig{Dir: dir, Hostname: "lab-1", Bus: rec.Bus()}); err != nil {
		t.Fatal(err)
	}
	crt, key := filepath.Join(dir, "kubelet.crt"), filepath.Join(dir, "kubelet.key")
	s, err := NewServing(ServingConfig{CertFile: crt, KeyFile: key, Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if _, err := NewServing(ServingConfig{Dir: other, Hostname: "lab-2"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{crt, key} {
		if err := os.Rename(filepath.Join(other, filepath.Base(path)), path); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := s.GetCertificate(nil); err != nil {
			t.Fatal(err)
		}
	}
	got := saw(t, rec)
	for i, want := range []string{
		"serving start " + string(trace.CertificateSelfSigned) + " kubelet.crt lab-1@", "serving start file kubelet.crt lab-1@",
		"serving " + string(trace.CertificateChanged) + " file kubelet.crt lab-2@",
	} {
		if len(got) != 3 || !strings.HasPrefix(got[i], want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

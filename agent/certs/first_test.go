package certs

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The agent does not wait for its first certificate, but its clients do.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, rec := setup(t, a)
		a.hold.Store(true)
		began := time.Now()
		c, err := Background(t.Context(), cfg)
		if err != nil || time.Since(began) != 0 {
			t.Fatalf("%v after %s", err, time.Since(began))
		}
		if c.Current() != nil || c.Certificate() == nil || c.Ready() == nil || c.REST.BearerToken != "" || c.REST.Host != "https://10.0.0.1:6443" {
			t.Errorf("before: %v, %+v", c.Current(), c.REST)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx, func() {}) }()
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's
		synctest.Wait()
		if isClosed(c.Ready()) || c.Current() != nil {
			t.Error("there is a certificate that nobody approved")
		}
		a.hold.Store(false)
		time.Sleep(2 * approvalTimeout) //nolint:forbidigo // the bubble's
		synctest.Wait()
		if !isClosed(c.Ready()) || c.Current() == nil || c.Certificate()().Leaf.Subject.CommonName != "system:node:lab-1" {
			t.Errorf("after the approval: %v", c.Current())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if all := tracetest.Events[trace.Certificate](rec); len(all) < 2 || !all[0].Awaited || !strings.Contains(all[0].None, "none yet") || all[1].Cause != trace.CertificateBootstrap {
			t.Errorf("certificates %+v", all)
		}
		if _, err := os.Stat(cfg.Kubeconfig); err != nil {
			t.Error(err)
		}
		again, err := Background(t.Context(), cfg)
		if err != nil || again.Ready() != nil || again.Current() == nil {
			t.Errorf("a certificate that is there: %v", err)
		}
	})
}

// What is refused for half a minute ends the agent, and what the user has to do is said.
func TestBackgroundRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, rec := setup(t, a)
		a.fail.Store(new(error(apierrors.NewUnauthorized("no"))))
		c, err := Background(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := c.Run(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "does not accept the token in "+cfg.BootstrapKubeconfig) {
			t.Error(err)
		}
		if d := time.Since(began); d < refusalPatience || d > 2*refusalPatience {
			t.Errorf("ended after %s", d)
		}
		if w := tracetest.Events[trace.Wait](rec); len(w) < 2 || !strings.Contains(w[0].Cause, "does not accept the token") {
			t.Errorf("what it waited for: %+v", w)
		}
		if err := os.WriteFile(cfg.BootstrapKubeconfig, []byte("no kubeconfig"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Background(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), cfg.BootstrapKubeconfig) {
			t.Errorf("a bootstrap kubeconfig that cannot be read: %v", err)
		}
	})
}

// An API server that has just started does not know the token yet, and an administrator replaces one that has expired: neither needs a new
// start of the agent.
func TestBackgroundRefusedAtFirst(t *testing.T) {
	for name, test := range map[string]struct {
		text string // of the bootstrap kubeconfig while requests are refused
		then string
		want string // of the error; empty if there is a certificate
	}{
		"not yet":        {text: bootKubeconfig, then: bootKubeconfig},
		"another token":  {text: bootKubeconfig, then: strings.Replace(bootKubeconfig, "token: ", "token: new", 1)},
		"half written":   {text: bootKubeconfig[:40], then: bootKubeconfig},
		"another server": {text: bootKubeconfig, then: strings.Replace(bootKubeconfig, "10.0.0.1", "10.0.0.2", 1), want: "the address or the CA of the API server is not the one of the agent's start"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t, time.Hour)
				cfg, _ := setup(t, a)
				write := func(text string) {
					if err := os.WriteFile(cfg.BootstrapKubeconfig, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				a.fail.Store(new(error(apierrors.NewForbidden(certificatesv1.Resource("certificatesigningrequests"), "", nil))))
				c, err := Background(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				write(test.text)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- c.Run(ctx, func() {}) }()
				time.Sleep(refusalPatience / 2) //nolint:forbidigo // the bubble's
				write(test.then)
				var none error
				a.fail.Store(&none)
				time.Sleep(refusalPatience) //nolint:forbidigo // the bubble's
				synctest.Wait()
				cancel()
				err = <-done
				if test.want != "" {
					if err == nil || !strings.Contains(err.Error(), test.want) || isClosed(c.Ready()) {
						t.Errorf("%v", err)
					}
					return
				}
				if err != nil || !isClosed(c.Ready()) || c.Current() == nil {
					t.Errorf("%v, certificate %v", err, c.Current())
				}
			})
		})
	}
}

// A certificate that this agent does not renew is there before anything else, as with upstream's kubelet.
func TestBackgroundWithoutRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, _ := setup(t, a)
		cfg.Rotate = false
		c, err := Background(t.Context(), cfg)
		if err != nil || c.Ready() != nil {
			t.Errorf("%v, ready %v", err, c.Ready())
		}
		if _, err := os.Stat(cfg.Kubeconfig); err != nil {
			t.Error(err)
		}
	})
}

package certs

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// What cannot succeed ends the agent, and what the user has to do is said.
func TestBackgroundRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, time.Hour)
		cfg, _ := setup(t, a)
		a.fail.Store(new(error(apierrors.NewUnauthorized("no"))))
		c, err := Background(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "does not accept the token in "+cfg.BootstrapKubeconfig) {
			t.Error(err)
		}
		if err := os.WriteFile(cfg.BootstrapKubeconfig, []byte("no kubeconfig"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Background(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), cfg.BootstrapKubeconfig) {
			t.Errorf("a bootstrap kubeconfig that cannot be read: %v", err)
		}
	})
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

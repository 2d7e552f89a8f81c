package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	kubeletv1 "k8s.io/kubelet/config/v1"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Tokens creates service account tokens.
type Tokens interface {
	Token(ctx context.Context, namespace, serviceAccount string, req *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
}

// ServiceAccounts reads service accounts.
type ServiceAccounts interface {
	ServiceAccount(ctx context.Context, namespace, name string) (*v1.ServiceAccount, error)
}

// Config is what Providers need.
type Config struct {
	// Path is a file or directory, from --image-credential-provider-config; BinDir is the directory of the binaries,
	// from --image-credential-provider-bin-dir.
	Path, BinDir string
	// Tokens and ServiceAccounts are only needed by providers with tokenAttributes.
	Tokens          Tokens
	ServiceAccounts ServiceAccounts
	Bus             *trace.Bus
}

// Providers are all configured providers. Safe for concurrent use.
type Providers struct {
	all  []*provider
	hash string
}

// ConfigHash identifies the configuration, such as sha256:1f…
//
// Upstream: pkg/credentialprovider/plugin/config.go, readCredentialProviderConfig.
func (p *Providers) ConfigHash() string { return p.hash }

// New reads and checks the configuration.
//
// Upstream: pkg/credentialprovider/plugin/plugin.go, RegisterCredentialProviderPlugins.
func New(cfg Config) (*Providers, error) {
	if _, err := os.Stat(cfg.BinDir); err != nil {
		return nil, fmt.Errorf("directory of credential providers: %w", err)
	}
	specs, hash, err := readConfig(cfg.Path)
	if err != nil {
		return nil, err
	}
	out := &Providers{hash: hash}
	for _, spec := range specs {
		bin, err := exec.LookPath(filepath.Join(cfg.BinDir, spec.Name))
		if err != nil {
			return nil, fmt.Errorf("credential provider %s: %w", spec.Name, err)
		}
		if spec.TokenAttributes != nil && (cfg.Tokens == nil || cfg.ServiceAccounts == nil) {
			return nil, fmt.Errorf("credential provider %s: tokenAttributes needs an API server", spec.Name)
		}
		out.all = append(out.all, &provider{cfg: cfg, spec: spec, bin: bin, cache: cache{}})
	}
	return out, nil
}

// Lookup implements image.Providers: it returns the logins of all providers for the repository, the more specific
// first.
func (p *Providers) Lookup(ctx context.Context, repository string, pod *v1.Pod) []image.Credential {
	logins := image.Logins{}
	for _, one := range p.all {
		if !one.isFor(repository) {
			continue
		}
		entries, from, err := one.provide(ctx, repository, pod)
		if err != nil {
			trace.Point(one.cfg.Bus, trace.FromContext(ctx), trace.Log{
				Level: trace.LevelWarn, Message: "credential provider " + one.spec.Name + ": " + err.Error(), Attrs: []trace.KV{{K: "image", V: repository}},
			})
			continue
		}
		logins.Add(entries, from)
	}
	return logins.Lookup(repository)
}

// provider is a configured provider.
type provider struct {
	cfg    Config
	spec   kubeletv1.CredentialProvider
	bin    string
	flight singleflight.Group
	cache  cache
}

func (p *provider) isFor(repository string) bool {
	for _, m := range p.spec.MatchImages {
		if image.Fits(m, repository) {
			return true
		}
	}
	return false
}

// provide returns a provider's logins, from its cache or from a call.
//
// Upstream: pkg/credentialprovider/plugin/plugin.go, provide.
func (p *provider) provide(ctx context.Context, repository string, pod *v1.Pod) (map[string]image.Login, image.Credential, error) {
	who, use, err := p.account(ctx, pod)
	if err != nil || !use {
		return nil, image.Credential{}, err
	}
	if entries, ok := p.cache.get(repository, who.key(p.spec.TokenAttributes)); ok {
		return entries, image.Credential{ServiceAccount: who.origin}, nil
	}
	wait := trace.Wait{For: trace.WaitCredentials, Target: trace.Target{Kind: trace.TargetProvider, Namespace: repository, Name: p.spec.Name}}
	span := trace.Begin(p.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(p.cfg.Bus, span, wait) }()
	var own atomic.Bool
	asked := p.flight.DoChan(join(repository, who.hash(), who.annotationsKey()), func() (any, error) {
		own.Store(true)
		return p.ask(context.WithoutCancel(ctx), repository, who)
	})
	select {
	case <-ctx.Done():
		return nil, image.Credential{}, ctx.Err()
	case got := <-asked:
		entries, ok := got.Val.(map[string]image.Login)
		if got.Err == nil && !ok {
			got.Err = errors.New("no answer")
		}
		if wait.Shared = !own.Load(); got.Err != nil {
			wait.Cause = got.Err.Error()
		}
		return entries, image.Credential{ServiceAccount: who.origin}, got.Err
	}
}

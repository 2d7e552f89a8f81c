package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1 "k8s.io/kubelet/config/v1"
	credentialv1 "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
	kjson "sigs.k8s.io/json"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/program"
)

// Limits of one call. A provider is a program that root installed, but its output may be text of a registry or a cloud.
const (
	limit     = time.Minute // for the response
	maxAnswer = 1 << 20     // bytes on stdout; a login has some kilobytes at most
)

// ask calls the provider and processes its response.
func (p *provider) ask(ctx context.Context, repository string, who account) (map[string]image.Login, error) {
	resp, err := p.call(ctx, repository, who)
	if err != nil {
		return nil, err
	}
	return p.take(resp, repository, who)
}

// take checks a response and caches it as it requests.
func (p *provider) take(resp *credentialv1.CredentialProviderResponse, repository string, who account) (map[string]image.Login, error) {
	entries := make(map[string]image.Login, len(resp.Auth))
	for place, a := range resp.Auth {
		if who.token != "" && a.Password == who.token && p.spec.TokenAttributes.CacheType != kubeletv1.TokenServiceAccountTokenCacheType {
			return nil, errors.New("it returned the service account token as the password, which needs tokenAttributes.cacheType Token")
		}
		entries[place] = image.Login{Username: a.Username, Password: a.Password}
	}
	scope := ""
	switch resp.CacheKeyType {
	case credentialv1.ImagePluginCacheKeyType:
		scope = repository
	case credentialv1.RegistryPluginCacheKeyType:
		scope = registry(repository)
	case credentialv1.GlobalPluginCacheKeyType:
		scope = everywhere
	default:
		return nil, fmt.Errorf("cacheKeyType %.64q in its response must be Image, Registry or Global", resp.CacheKeyType)
	}
	hold := p.spec.DefaultCacheDuration.Duration
	if resp.CacheDuration != nil {
		hold = resp.CacheDuration.Duration
	}
	if hold > 0 {
		p.cache.put(scope, who.key(p.spec.TokenAttributes), entries, hold)
	}
	return entries, nil
}

// call runs the binary: the request on stdin, the response on stdout.
//
// Upstream: pkg/credentialprovider/plugin/plugin.go, ExecPlugin.
func (p *provider) call(ctx context.Context, repository string, who account) (*credentialv1.CredentialProviderResponse, error) {
	request, err := json.Marshal(credentialv1.CredentialProviderRequest{
		TypeMeta: metav1.TypeMeta{Kind: "CredentialProviderRequest", APIVersion: p.spec.APIVersion},
		Image:    repository, ServiceAccountToken: who.token, ServiceAccountAnnotations: who.annotations,
	})
	if err != nil {
		return nil, err
	}
	out, err := program.Run(ctx, program.Limits{Time: limit, Stdout: maxAnswer}, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, p.bin, p.spec.Args...)
		cmd.Env = os.Environ()
		for _, e := range p.spec.Env {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
		cmd.Stdin = bytes.NewReader(request)
		return cmd
	})
	if err != nil {
		// The output is not quoted: it may contain logins.
		return nil, fmt.Errorf("run for image %s: %w (%d bytes on stderr)", repository, err, out.StderrSize)
	}
	return parseAnswer(out.Stdout, p.spec.APIVersion)
}

// parseAnswer decodes a provider's output, which may be text of a registry or a cloud. A response with a field that is not known is refused:
// a provider of a later version may limit there who may use the logins.
//
// Upstream: pkg/credentialprovider/plugin/plugin.go, decodeResponse.
func parseAnswer(answer []byte, version string) (*credentialv1.CredentialProviderResponse, error) {
	var resp credentialv1.CredentialProviderResponse
	unknown, err := kjson.UnmarshalStrict(answer, &resp)
	if err != nil { // the error may quote a login
		return nil, errors.New("its response on stdout is not the expected JSON")
	}
	if resp.Kind != "CredentialProviderResponse" || resp.APIVersion != version {
		return nil, fmt.Errorf("its response is another object: want a CredentialProviderResponse of %s%s", version, otherVersion(resp.APIVersion))
	}
	if len(unknown) > 0 {
		return nil, errors.New("its response has a field that is not known, or the same field twice")
	}
	return &resp, nil
}

// otherVersion returns the version of the response, if it is one that exists. No other part of the response is quoted:
// all of it counts as secret.
func otherVersion(got string) string {
	for _, v := range []string{"v1alpha1", "v1beta1", "v1"} {
		if got == credentialv1.GroupName+"/"+v {
			return ", got " + v
		}
	}
	return ""
}

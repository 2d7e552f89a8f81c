package attach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// asked is a credential provider that sleeps as long as a file says, and has no credentials.
const asked = `#!/bin/sh
read -r delay < '%s'
sleep "$delay"
echo '{"kind": "CredentialProviderResponse", "apiVersion": "credentialprovider.kubelet.k8s.io/v1", "cacheKeyType": "Image", "cacheDuration": "0s", "auth": {}}'
`

const providers = `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: asked
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["%s"]
  defaultCacheDuration: 0s
`

// providerDelay is the file that says how long the credential provider sleeps.
func (b *bench) providerDelay() string { return filepath.Join(b.Dir, "provider-delay") }

// provider sets up a credential provider for one of the lab's images, and returns the kubelet's flags.
func (b *bench) provider() (flags []string, err error) {
	bin, conf := filepath.Join(b.Dir, "providers"), filepath.Join(b.Dir, "providers.yaml")
	image := b.Image(lab.ImageHTTP)
	return []string{"--image-credential-provider-bin-dir=" + bin, "--image-credential-provider-config=" + conf}, errors.Join(
		os.MkdirAll(bin, 0o755),
		os.WriteFile(filepath.Join(bin, "asked"), fmt.Appendf(nil, asked, b.providerDelay()), 0o755),
		os.WriteFile(conf, fmt.Appendf(nil, providers, image[:strings.LastIndexByte(image, ':')]), 0o600),
		os.WriteFile(b.providerDelay(), []byte("0\n"), 0o600),
	)
}

// TestSlowProvider has the credential provider take two seconds for one pod of two.
func TestSlowProvider(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	spec := "  containers:\n  - name: web\n    image: " + b.Image(lab.ImageHTTP) + "\n    imagePullPolicy: Always\n"
	b.apply(t, "prompt", spec)
	b.started(t, a, "default/prompt")
	if err := os.WriteFile(b.providerDelay(), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.apply(t, "asking", spec)
	b.create(t, "unasked") // its image needs no provider
	b.started(t, a, "default/asking")
	b.started(t, a, "default/unasked")
	b.speaks(t, a, "default/asking", "KL04", cause.Certain, "the credential provider asked to answer for "+strings.TrimSuffix(b.Image(lab.ImageHTTP), ":1"))
	b.cheap(t, a, "default/prompt", "KL04", time.Second) // half of the delay
	b.silent(t, a, "default/unasked", "KL04")
}

package agent

import (
	"encoding/json"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// masked stands for credentials in what upstream's tools read.
const masked = "<masked>"

// newSecrets knows what the process was given.
func newSecrets() *redact.Vault {
	v := redact.NewVault()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		v.Learn(redact.Node, name, redact.URLSecrets(os.Getenv(name))...)
	}
	return v
}

// withheld is an error as people may see it.
type withheld struct {
	error
	text string
}

// Error implements error.
func (e withheld) Error() string { return e.text }

// Unwrap lets its kind be found.
func (e withheld) Unwrap() error { return e.error }

// shownError is an error without secrets that it quotes: what a proxy or the API server answered may have any.
func shownError(v *redact.Vault, err error) error {
	if err == nil {
		return nil
	}
	if text := v.Text(redact.Node, err.Error()); text != err.Error() {
		return withheld{err, text}
	}
	return err
}

// learnURL takes in what the manifests' web server is shown. What every client sends is no secret.
func learnURL(v *redact.Vault, url string, headers map[string][]string) {
	values := redact.URLSecrets(url)
	for name, list := range headers {
		if !slices.Contains([]string{"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Type", "Host", "User-Agent"}, name) {
			values = append(values, list...)
		}
	}
	v.Learn(redact.Node, "staticPodURL", values...)
}

// manifestOf is all that a pod's manifest says: whatever it says is no secret.
func manifestOf(pod *v1.Pod) string {
	text, err := json.Marshal(struct {
		Namespace, Name string
		Labels          map[string]string
		Spec            v1.PodSpec
	}{pod.Namespace, pod.Name, pod.Labels, pod.Spec})
	if err != nil { // cannot be
		return ""
	}
	return string(text)
}

// shownConfig is the configuration in force, without credentials.
func shownConfig(c *config.Config) any {
	kc := c.Kubelet.DeepCopy()
	for name := range kc.StaticPodURLHeader {
		kc.StaticPodURLHeader[name] = []string{masked}
	}
	if kc.StaticPodURL != "" {
		kc.StaticPodURL = redact.URL(kc.StaticPodURL)
	}
	return kc
}

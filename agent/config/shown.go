package config

import (
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// masked replaces credentials, as in upstream's /configz.
const masked = "<masked>"

// Shown returns a copy of the kubelet's configuration without credentials.
func (c *Config) Shown() *kubeletv1beta1.KubeletConfiguration {
	kc := c.Kubelet.DeepCopy()
	for name := range kc.StaticPodURLHeader {
		kc.StaticPodURLHeader[name] = []string{masked}
	}
	if kc.StaticPodURL != "" {
		kc.StaticPodURL = redact.URL(kc.StaticPodURL)
	}
	if kc.EnableSystemLogQuery == nil { // has no default in the file, but is shown
		kc.EnableSystemLogQuery = new(false)
	}
	return kc
}

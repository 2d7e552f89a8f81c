package config

import (
	"strings"

	"github.com/distribution/reference"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

func (c *checker) images() {
	kc := c.kc
	high, low := int64(*kc.ImageGCHighThresholdPercent), int64(*kc.ImageGCLowThresholdPercent)
	c.between("imageGCHighThresholdPercent", high, 0, 100)
	c.between("imageGCLowThresholdPercent", low, 0, 100)
	if low >= high {
		c.add("imageGCLowThresholdPercent", "%d must be below imageGCHighThresholdPercent, which is %d", low, high)
	}
	youngest, oldest := kc.ImageMinimumGCAge.Duration, kc.ImageMaximumGCAge.Duration
	if youngest < 0 {
		c.add("imageMinimumGCAge", "%v must not be negative", youngest)
	}
	switch {
	case oldest < 0:
		c.add("imageMaximumGCAge", "%v must not be negative", oldest)
	case oldest > 0 && oldest <= youngest:
		c.add("imageMaximumGCAge", "%v must be above imageMinimumGCAge, which is %v", oldest, youngest)
	}
	c.atLeast("registryPullQPS", int64(*kc.RegistryPullQPS), 0)
	c.atLeast("registryBurst", int64(kc.RegistryBurst), 0)
	if n := kc.MaxParallelImagePulls; n != nil {
		c.atLeast("maxParallelImagePulls", int64(*n), 1)
		if *n > 1 && *kc.SerializeImagePulls {
			c.add("maxParallelImagePulls", "%d needs serializeImagePulls to be false", *n)
		}
	}
	c.imageCredentials()
}

func (c *checker) imageCredentials() {
	if !c.gates.Enabled("KubeletEnsureSecretPulledImages") {
		return // gatedFields reports the fields
	}
	policy := c.kc.ImagePullCredentialsVerificationPolicy
	c.oneOf("imagePullCredentialsVerificationPolicy", string(policy), string(kubeletv1beta1.NeverVerify),
		string(kubeletv1beta1.NeverVerifyPreloadedImages), string(kubeletv1beta1.NeverVerifyAllowlistedImages), string(kubeletv1beta1.AlwaysVerify))
	if len(c.kc.PreloadedImagesVerificationAllowlist) == 0 {
		return
	}
	if policy != kubeletv1beta1.NeverVerifyAllowlistedImages {
		c.add("preloadedImagesVerificationAllowlist", "needs imagePullCredentialsVerificationPolicy to be %s", kubeletv1beta1.NeverVerifyAllowlistedImages)
	}
	for i, p := range c.kc.PreloadedImagesVerificationAllowlist {
		c.allowedImage(index("preloadedImagesVerificationAllowlist", i), p)
	}
}

// allowedImage checks a pattern of image names.
//
// Upstream: pkg/kubelet/images/pullmanager/image_pull_policies.go, getAllowlistImagePattern.
func (c *checker) allowedImage(at, pattern string) {
	name, wild := strings.CutSuffix(pattern, "/*")
	if name == "" || strings.Contains(name, "*") || strings.TrimSpace(name) != name {
		c.add(at, "%q must be an image name; only a final /* is a wildcard", pattern)
		return
	}
	if wild {
		return
	}
	ref, err := reference.Parse(name)
	_, tagged := ref.(reference.Tagged)
	_, digested := ref.(reference.Digested)
	switch {
	case err != nil:
		c.add(at, "%q is not an image name: %v", pattern, err)
	case tagged || digested:
		c.add(at, "%q must not carry a tag or digest", pattern)
	}
}

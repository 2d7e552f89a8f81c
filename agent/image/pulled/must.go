package pulled

import (
	"path/filepath"
	"slices"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/image"
)

// maxNoted is how many secrets a record has before matching ones are no longer added.
const maxNoted = 100

// Checked is the result of a check whether an image must be pulled although it is on the node. Upstream:
// pkg/kubelet/images/pullmanager/metrics.go.
type Checked string

// The results.
const (
	CheckedPolicy Checked = "credentialPolicyAllowed" // the policy allows the image without a check
	CheckedRecord Checked = "credentialRecordFound"   // the pod has credentials with which the image was pulled
	CheckedPull   Checked = "mustAuthenticate"        // the image must be pulled with the pod's credentials
	CheckedError  Checked = "error"                   // a record or the credentials cannot be read
)

// MustPull implements image.Records.
//
// Upstream: pkg/kubelet/images/pullmanager/image_pull_manager.go, MustAttemptImagePull.
func (s *Store) MustPull(name, ref string, lookup func() ([]image.Credential, error)) (bool, error) {
	result, err := s.check(name, ref, lookup)
	s.mu.Lock()
	s.checks[result]++
	s.mu.Unlock()
	return result == CheckedPull || result == CheckedError, err
}

func (s *Store) check(name, ref string, lookup func() ([]image.Credential, error)) (Checked, error) {
	r, pulled, err := s.known(name, ref)
	if err != nil {
		s.complain(err)
		return CheckedError, nil
	}
	if !s.policy(name, pulled) {
		return CheckedPolicy, nil
	}
	repo, err := repository(name)
	if r == nil || err != nil {
		return CheckedPull, nil
	}
	have, ok := r.CredentialMapping[repo]
	switch {
	case !ok:
		return CheckedPull, nil
	case have.NodePodsAccessible:
		return CheckedRecord, nil
	case len(have.KubernetesSecrets) == 0 && len(have.KubernetesServiceAccounts) == 0:
		return CheckedPull, nil
	}
	offered, err := lookup()
	if err != nil {
		return CheckedError, err
	}
	i := slices.IndexFunc(offered, func(c image.Credential) bool { return c.Secret != nil && matches(have.KubernetesSecrets, secretOf(&c)) })
	if i >= 0 {
		// The object or its login is new: the next pod may have only this one.
		if !slices.Contains(have.KubernetesSecrets, secretOf(&offered[i])) && len(have.KubernetesSecrets) < maxNoted {
			s.mu.Lock()
			s.complain(s.merge(name, ref, recorded(&offered[i])))
			s.mu.Unlock()
		}
		return CheckedRecord, nil
	}
	// Only the first service account counts: a pod has one.
	i = slices.IndexFunc(offered, func(c image.Credential) bool { return c.Secret == nil && c.ServiceAccount != nil })
	if i < 0 || !slices.Contains(have.KubernetesServiceAccounts, accountOf(&offered[i])) {
		return CheckedPull, nil
	}
	return CheckedRecord, nil
}

// matches reports whether a secret is in good: with the same login, or as the same object with another login.
func matches(good []kubeletv1beta1.ImagePullSecret, secret kubeletv1beta1.ImagePullSecret) bool {
	return slices.ContainsFunc(good, func(g kubeletv1beta1.ImagePullSecret) bool {
		return g.CredentialHash != "" && g.CredentialHash == secret.CredentialHash || sameSecret(g, secret)
	})
}

// known returns an image's record, nil for none, and whether it was certainly pulled.
func (s *Store) known(name, ref string) (*record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.get(ref)
	if err != nil || r != nil {
		return r, r != nil, err
	}
	if s.pulls[name] > 0 {
		return nil, true, nil
	}
	var in intent
	ok, err := read(filepath.Join(s.pulling, filename(name)), "ImagePullIntent", &in, &in.TypeMeta)
	return nil, ok && in.Image == name, err
}

package pulled

import (
	"slices"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/image"
)

// recorded returns the part of a credential that a record keeps; nil means that none was needed.
//
// Upstream: pkg/kubelet/images/image_manager.go, trackedToImagePullCreds.
func recorded(c *image.Credential) *credentials {
	switch {
	case c == nil || c.Secret == nil && c.ServiceAccount == nil:
		return &credentials{NodePodsAccessible: true}
	case c.Secret != nil:
		return &credentials{KubernetesSecrets: []kubeletv1beta1.ImagePullSecret{secretOf(c)}}
	}
	return &credentials{KubernetesServiceAccounts: []kubeletv1beta1.ImagePullServiceAccount{accountOf(c)}}
}

func secretOf(c *image.Credential) kubeletv1beta1.ImagePullSecret {
	return kubeletv1beta1.ImagePullSecret{UID: c.Secret.UID, Namespace: c.Secret.Namespace, Name: c.Secret.Name, CredentialHash: c.Hash}
}

func accountOf(c *image.Credential) kubeletv1beta1.ImagePullServiceAccount {
	return kubeletv1beta1.ImagePullServiceAccount{UID: c.ServiceAccount.UID, Namespace: c.ServiceAccount.Namespace, Name: c.ServiceAccount.Name}
}

// merge adds new credentials to an image's record, and writes it if it changed. With nil, only the pull is known.
//
// Upstream: pkg/kubelet/images/pullmanager/image_pull_manager.go, writePulledRecordIfChanged.
func (s *Store) merge(name, ref string, with *credentials) error {
	repo, err := repository(name)
	if err != nil {
		return err
	}
	old, err := s.get(ref)
	s.complain(err) // an unreadable record is replaced
	r := &record{ImageRef: ref}
	if old != nil {
		r = old.DeepCopy()
	}
	if with != nil {
		have, ok := r.CredentialMapping[repo]
		merged, changed := add(have, *with)
		if !changed && ok {
			return nil
		}
		if r.CredentialMapping == nil {
			r.CredentialMapping = map[string]credentials{}
		}
		r.CredentialMapping[repo] = merged
	} else if old != nil {
		return nil
	}
	return s.put(r)
}

// add merges new credentials into the known ones: the latest login of each secret, and each service account once.
// Access for all pods replaces both.
func add(have, more credentials) (credentials, bool) {
	switch {
	case have.NodePodsAccessible:
		return have, false
	case more.NodePodsAccessible:
		return credentials{NodePodsAccessible: true}, true
	}
	changed := false
	for _, secret := range more.KubernetesSecrets {
		i := slices.IndexFunc(have.KubernetesSecrets, func(s kubeletv1beta1.ImagePullSecret) bool { return sameSecret(s, secret) })
		switch {
		case i < 0:
			have.KubernetesSecrets = append(have.KubernetesSecrets, secret)
		case have.KubernetesSecrets[i] == secret:
			continue
		default:
			have.KubernetesSecrets[i] = secret
		}
		changed = true
	}
	for _, account := range more.KubernetesServiceAccounts {
		if !slices.Contains(have.KubernetesServiceAccounts, account) {
			have.KubernetesServiceAccounts = append(have.KubernetesServiceAccounts, account)
			changed = true
		}
	}
	return have, changed
}

// sameSecret reports whether they are the same object, whatever its content.
func sameSecret(a, b kubeletv1beta1.ImagePullSecret) bool {
	return a.UID == b.UID && a.Namespace == b.Namespace && a.Name == b.Name
}

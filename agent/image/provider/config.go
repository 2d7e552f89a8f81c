package provider

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletv1 "k8s.io/kubelet/config/v1"
	credentialv1 "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// credentialVersions are the API versions of providers. They are equal except for service accounts, which only v1 has.
func credentialVersions() []string {
	group := credentialv1.GroupName
	return []string{group + "/v1", group + "/v1alpha1", group + "/v1beta1"}
}

// readConfig reads a CredentialProviderConfig from a file, or from all *.json, *.yaml and
// *.yml of a directory in the order of their names. It also returns the hash of the files: of their lengths and contents.
//
// Upstream: pkg/credentialprovider/plugin/config.go, readCredentialProviderConfig.
func readConfig(path string) (all []kubeletv1.CredentialProvider, hash string, err error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, "", fmt.Errorf("credential provider config: %w", err)
	} else if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, "", fmt.Errorf("credential provider config: %w", err)
		}
		files = nil
		for _, e := range entries {
			if !e.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(e.Name())) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == 0 {
			return nil, "", fmt.Errorf("credential provider config: no *.json, *.yaml or *.yml in directory %s", path)
		}
	}
	sum := sha256.New()
	for _, f := range files {
		raw, err := wholefile.Read(f, wholefile.Large)
		if err != nil {
			return nil, "", fmt.Errorf("credential provider config: %w", err)
		}
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(raw)))) // it never fails
		_, _ = sum.Write(raw)
		providers, err := parseConfig(raw)
		if err != nil {
			return nil, "", fmt.Errorf("credential provider config %s: %w", f, err)
		}
		all = append(all, providers...)
	}
	return all, fmt.Sprintf("sha256:%x", sum.Sum(nil)), validate(all)
}

// parseConfig decodes a file. The names of fields are case-sensitive. Its three versions are equal, but only v1 has tokenAttributes.
func parseConfig(raw []byte) ([]kubeletv1.CredentialProvider, error) {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, err
	}
	var c kubeletv1.CredentialProviderConfig
	unknown, err := kjson.UnmarshalStrict(text, &c)
	if err = errors.Join(append(unknown, err)...); err != nil {
		return nil, err
	}
	latest := kubeletv1.SchemeGroupVersion.String()
	group, version, _ := strings.Cut(c.APIVersion, "/")
	if c.Kind != "CredentialProviderConfig" || group != kubeletv1.GroupName || !slices.Contains([]string{"v1", "v1beta1", "v1alpha1"}, version) {
		return nil, fmt.Errorf("is a %q of %q, want a CredentialProviderConfig of %s", c.Kind, c.APIVersion, latest)
	}
	for i := range c.Providers {
		if c.APIVersion != latest && c.Providers[i].TokenAttributes != nil {
			return nil, fmt.Errorf("providers[%d] (%s).tokenAttributes: the file's apiVersion must be %s", i, c.Providers[i].Name, latest)
		}
	}
	return c.Providers, nil
}

// validate returns everything that is wrong.
//
// Upstream: pkg/credentialprovider/plugin/config.go, validateCredentialProviderConfig.
func validate(all []kubeletv1.CredentialProvider) error {
	var errs []error
	if len(all) == 0 {
		errs = append(errs, errors.New("providers: at least one is required"))
	}
	seen := map[string]bool{}
	for i := range all {
		p := &all[i]
		add := func(field, format string, args ...any) {
			errs = append(errs, fmt.Errorf("providers[%d] (%s).%s: %s", i, p.Name, field, fmt.Sprintf(format, args...)))
		}
		if p.Name == "" || p.Name == "." || p.Name == ".." || strings.ContainsAny(p.Name, "/ ") {
			add("name", "%q must be the name of a file in the directory of binaries", p.Name)
		}
		if seen[p.Name] {
			add("name", "%q is there twice", p.Name)
		}
		seen[p.Name] = true
		if !slices.Contains(credentialVersions(), p.APIVersion) {
			add("apiVersion", "%q must be one of %s", p.APIVersion, strings.Join(credentialVersions(), ", "))
		}
		if len(p.MatchImages) == 0 {
			add("matchImages", "at least one is required")
		}
		for _, m := range p.MatchImages {
			if _, err := url.Parse("https://" + m); err != nil {
				add("matchImages", "%q must be a host, or a host and a path: %v", m, err)
			}
		}
		if p.DefaultCacheDuration == nil || p.DefaultCacheDuration.Duration < 0 {
			add("defaultCacheDuration", "is required, and 0 or more")
		}
		validateTokens(p, add)
	}
	return errors.Join(errs...)
}

func validateTokens(p *kubeletv1.CredentialProvider, add func(field, format string, args ...any)) {
	a := p.TokenAttributes
	if a == nil {
		return
	}
	if a.ServiceAccountTokenAudience == "" {
		add("tokenAttributes.serviceAccountTokenAudience", "is required")
	}
	if a.RequireServiceAccount == nil {
		add("tokenAttributes.requireServiceAccount", "is required")
	} else if !*a.RequireServiceAccount && len(a.RequiredServiceAccountAnnotationKeys) > 0 {
		add("tokenAttributes.requiredServiceAccountAnnotationKeys", "needs requireServiceAccount to be true")
	}
	if p.APIVersion != credentialv1.SchemeGroupVersion.String() {
		add("tokenAttributes", "needs apiVersion %s", credentialv1.SchemeGroupVersion)
	}
	if t := a.CacheType; t != kubeletv1.ServiceAccountServiceAccountTokenCacheType && t != kubeletv1.TokenServiceAccountTokenCacheType {
		add("tokenAttributes.cacheType", "%q must be ServiceAccount or Token", t)
	}
	seen := map[string]bool{}
	for _, key := range slices.Concat(a.RequiredServiceAccountAnnotationKeys, a.OptionalServiceAccountAnnotationKeys) {
		for _, wrong := range validation.IsQualifiedName(strings.ToLower(key)) {
			add("tokenAttributes", "annotation key %q: %s", key, wrong)
		}
		if seen[key] {
			add("tokenAttributes", "annotation key %q is there twice", key)
		}
		seen[key] = true
	}
}

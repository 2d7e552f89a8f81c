package pulled

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1alpha1 "k8s.io/kubelet/config/v1alpha1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

type (
	record      = kubeletv1beta1.ImagePulledRecord
	intent      = kubeletv1beta1.ImagePullIntent
	credentials = kubeletv1beta1.ImagePullCredentials
)

const prefix = "sha256-"

// filename is that of the record of an image's id, or of the note of an image's name.
func filename(key string) string { return fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(key))) }

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: kubeletv1beta1.SchemeGroupVersion.String()}
}

// read reads a file into v, which meta is the type of. False means that there is none.
func read(path, kind string, v any, meta *metav1.TypeMeta) (bool, error) {
	raw, err := wholefile.Read(path, wholefile.Large)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := parse(raw, kind, v, meta); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// parse reads a file's content into v, which meta is the type of.
func parse(raw []byte, kind string, v any, meta *metav1.TypeMeta) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return err
	}
	version := meta.APIVersion == kubeletv1beta1.SchemeGroupVersion.String() || meta.APIVersion == kubeletv1alpha1.SchemeGroupVersion.String()
	if meta.Kind != kind || !version { // both versions have the same fields
		return fmt.Errorf("is a %s of %s, want a %s of %s", meta.Kind, meta.APIVersion, kind, kubeletv1beta1.SchemeGroupVersion)
	}
	return nil
}

// write puts a file in place whole and for good: an image whose record a crash takes away would count as one that nobody pulled,
// and be free for all pods.
func write(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return wholefile.Write(path, append(raw, '\n'), 0o600)
}

// list returns the paths of all finished files of a directory.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, wholefile.Unfinished) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, err
}

// remove removes a file that may be gone already.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

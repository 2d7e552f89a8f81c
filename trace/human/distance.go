package human

import "strings"

// Nearest returns the name that may have been meant by a wrong one: which it begins or continues, or which differs from it in at most half
// of its letters and in three. It is "" when there is none. Case does not matter.
func Nearest(wrong string, names []string) string {
	if len(wrong) > 64 {
		return ""
	}
	wrong = strings.ToLower(wrong)
	far := min(max(1, len(wrong)/2), 3)
	best, least := "", far+1
	for _, n := range names {
		small := strings.ToLower(n)
		d := Distance(wrong, small)
		if min(len(small), len(wrong)) > 2 && (strings.HasPrefix(small, wrong) || strings.HasPrefix(wrong, small)) {
			d = min(d, far)
		}
		if d < least {
			best, least = n, d
		}
	}
	return best
}

// Distance is how many bytes have to be put, taken or changed to make b of a: for names that were meant.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

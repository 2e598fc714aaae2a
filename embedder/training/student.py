"""The static model and its training, in numpy: a mean of weighted piece vectors plus a bias, brought to length one.

Loss of a text: one minus the cosine to the teacher's vector, plus the squared differences of the similarities within a batch. Adam, in which the
pieces that a batch does not have stay as they are.
"""

import numpy as np
import scipy.sparse as sparse

RARITY = 1e-3
"""A piece begins with the weight a / (a + its share of all pieces) (Arora et al., 2017)."""
WARM_UP = 50
WEIGHTS_RATE = 5
"""How much faster the logarithms of the weights learn than the vectors, whose numbers are some twenty times smaller."""


class Student:
    def __init__(self, vectors, log_weights, bias, projection):
        self.vectors, self.log_weights, self.bias, self.projection = vectors, log_weights, bias, projection

    @classmethod
    def begin(cls, piece_vectors, counts, targets, dimension):
        """Begins with the teacher's vectors of single pieces, turned onto the main directions of the targets."""
        sample = targets[np.random.default_rng(0).permutation(len(targets))[:8_000]]
        projection = np.linalg.svd(sample, full_matrices=False)[2][:dimension].T
        share = np.asarray(counts.sum(0)).ravel() + 1
        share = share / share.sum()
        weights = np.log(RARITY / (RARITY + share)).astype(np.float32)
        return cls(unit(piece_vectors @ projection).astype(np.float32), weights, np.zeros(dimension, np.float32), projection.astype(np.float32))

    def train(self, counts, targets, passes, batch, rate, similarity, seed):
        rng = np.random.default_rng(seed)
        projected = unit(targets @ self.projection)
        parameters = [self.vectors, self.log_weights, self.bias]
        rates = [rate, WEIGHTS_RATE * rate, rate]
        first = [np.zeros_like(parameter) for parameter in parameters]
        second = [np.zeros_like(parameter) for parameter in parameters]
        steps, step = passes * (len(targets) // batch), 0
        for number in range(passes):
            order, cosines = rng.permutation(len(targets)), []
            for start in range(0, len(order) - batch + 1, batch):
                step += 1
                rows = order[start : start + batch]
                pieces, gradients, cosine = self._gradients(counts[rows], targets[rows], projected[rows], similarity)
                cosines.append(cosine)
                slow = min(1, step / WARM_UP) * (1 - step / (steps + 1))
                for i, (at, gradient) in enumerate(zip((pieces, pieces, slice(None)), gradients)):
                    first[i][at] = 0.9 * first[i][at] + 0.1 * gradient
                    second[i][at] = 0.99 * second[i][at] + 0.01 * gradient**2
                    moment = first[i][at] / (1 - 0.9**step)
                    parameters[i][at] -= rates[i] * slow * moment / (np.sqrt(second[i][at] / (1 - 0.99**step)) + 1e-8)
            print(f"pass {number + 1} of {passes}: mean cosine {np.mean(cosines):.4f}", flush=True)

    def _gradients(self, counts, targets, projected, similarity):
        pieces = np.unique(counts.indices)
        counts, vectors, weights = counts[:, pieces], self.vectors[pieces], np.exp(self.log_weights[pieces])
        weighted = sparse.csr_matrix(counts.multiply(weights))
        total = np.maximum(np.asarray(weighted.sum(1)).ravel(), 1e-9).astype(np.float32)[:, None]
        mean = (weighted @ vectors) / total
        raw = mean + self.bias
        length = np.linalg.norm(raw, axis=1, keepdims=True) + 1e-9
        out = raw / length
        difference = out @ out.T - targets @ targets.T
        np.fill_diagonal(difference, 0)
        gradient = -projected / len(out) + similarity * 40 * (difference @ out) / len(out) ** 2
        gradient = (gradient - (gradient * out).sum(1, keepdims=True) * out) / length
        share = (gradient / total).astype(np.float32)
        base = counts.T @ share
        of_weights = ((base * vectors).sum(1) - counts.T @ (share * mean).sum(1)) * weights
        return pieces, (base * weights[:, None], of_weights, gradient.sum(0)), float((out * projected).sum(1).mean())


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

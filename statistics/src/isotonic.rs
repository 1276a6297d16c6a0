//! The rising curve that is nearest to points (isotonic regression).

/// For each of these values, in their order, the value of the curve that never falls and lies
/// nearest to them by squares that count by weight: neighbours that fall are put together until
/// none do (Ayer, Brunk, Ewing, Reid and Silverman, "An Empirical Distribution Function for
/// Sampling with Incomplete Information", 1955: pool adjacent violators). Points are a value and
/// its weight, which is above zero.
pub(super) fn rising(points: &[(f64, f64)]) -> Vec<f64> {
    let mut blocks: Vec<Block> = Vec::new();
    for &(value, weight) in points {
        let mut last = Block {
            value,
            weight,
            points: 1,
        };
        while let Some(before) = blocks.pop_if(|before| before.value > last.value) {
            let weight = before.weight + last.weight;
            last = Block {
                value: (before.value * before.weight + last.value * last.weight) / weight,
                weight,
                points: before.points + last.points,
            };
        }
        blocks.push(last);
    }
    blocks
        .iter()
        .flat_map(|block| std::iter::repeat_n(block.value, block.points))
        .collect()
}

/// Neighbours that share a value.
struct Block {
    value: f64,
    weight: f64,
    points: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_that_of_r() {
        // isoreg(c(1, 0, 4, 3, 3, 5, 4, 2, 0))$yf is 0.5 0.5 3 3 3 3 3 3 3.
        let ys = [1.0, 0.0, 4.0, 3.0, 3.0, 5.0, 4.0, 2.0, 0.0];
        let curve = rising(&ys.map(|y| (y, 1.0)));
        assert_eq!(curve, [0.5, 0.5, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn what_rises_stays_as_it_is_and_what_falls_meets_by_weight() {
        assert_eq!(rising(&[(1.0, 1.0), (2.0, 5.0)]), [1.0, 2.0]);
        assert_eq!(rising(&[(4.0, 1.0), (0.0, 3.0)]), [1.0, 1.0]);
        assert_eq!(rising(&[]), [] as [f64; 0]);
    }
}

"""The pattern of a recurrence, entry by entry: the product of the gates that stand between s and t."""


def recurrence_pattern(gates):
    T = len(gates)
    M = gates.new_zeros(T, T)
    for t in range(T):
        for s in range(t + 1):
            M[t, s] = gates[s + 1:t + 1].prod()
    return M

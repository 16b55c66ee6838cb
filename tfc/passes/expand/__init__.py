"""Operations put into plainer ones, or into the one form that later passes and backends know.

May import `rewriting` and `analysis`.
"""

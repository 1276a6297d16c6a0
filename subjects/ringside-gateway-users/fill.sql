CREATE DATABASE IF NOT EXISTS ringside;
CREATE OR REPLACE TABLE ringside.accounts (id INT UNSIGNED PRIMARY KEY, balance BIGINT NOT NULL, note VARCHAR(255) NOT NULL);
INSERT INTO ringside.accounts SELECT seq, seq * 37, 'an account like any other, an account like any other, an account like any other, an account like any other, an account like any other, an account like any other, an account like any other, an account like any other, an account like any o' FROM ringside.seq_0_to_99999;

import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { keys } from "../api/keys";
import { sessionStart } from "../api/session";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import classes from "./LoginPage.module.css";
import { safeRedirect } from "./safeRedirect";

export function LoginPage() {
  useDocumentTitle("Log in · GPUaaS");
  const { to } = useSearch({ from: "/login" });
  const router = useRouter();
  const client = useQueryClient();
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const login = useMutation({
    mutationFn: () => sessionStart(username.trim(), password),
    onSuccess: (session) => {
      client.clear(); // of whoever was here before
      client.setQueryData(keys.session, session);
      router.history.push(safeRedirect(to));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    login.mutate();
  };
  return (
    <main className={classes.page}>
      <form className={classes.card} onSubmit={submit}>
        <img src="/favicon.svg" alt="" width={40} height={40} />
        <h1>Log in to GPUaaS</h1>
        <Stack gap="sm" mt="md">
          <TextInput
            label="E-mail"
            type="email"
            name="username"
            autoComplete="username"
            required
            withAsterisk={false}
            value={username}
            onChange={(event) => setUsername(event.currentTarget.value)}
            data-autofocus
            autoFocus
          />
          <PasswordInput
            label="Password"
            name="password"
            autoComplete="current-password"
            required
            withAsterisk={false}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {login.error && <ProblemPanel problem={explained(login.error)} />}
          <Button type="submit" mt="xs" loading={login.isPending} fullWidth>
            Log in
          </Button>
        </Stack>
      </form>
    </main>
  );
}

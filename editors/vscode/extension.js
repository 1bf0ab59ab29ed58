// Starts `streamsched lsp` for .sched files; everything else is the server's.
const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function start() {
  const [command, ...args] = workspace.getConfiguration("streamsched").get("command");
  client = new LanguageClient(
    "streamsched",
    "streamsched",
    { command, args },
    { documentSelector: [{ language: "sched" }] },
  );
  return client.start().catch((error) => {
    window.showErrorMessage(
      `streamsched: cannot start '${[command, ...args].join(" ")}': ${error.message}. ` +
        "Install it with pip install 'streamsched[lsp]', or name its command in the setting streamsched.command.",
    );
  });
}

async function restart() {
  await client?.stop().catch(() => undefined);
  await start();
}

exports.activate = (context) => {
  context.subscriptions.push(commands.registerCommand("streamsched.restart", restart));
  return start();
};

exports.deactivate = () => client?.stop();

//! The command line. One file per command; what they do is in the library.

mod access;
mod build;
mod check_serving;
mod diff;
mod explain;
mod generate;
mod images;
mod init;
mod inspect;
mod lock;
mod output;
mod repository;
mod vendor;

use crate::escape;
use crate::jq;
use crate::pipeline::COMPILER_STACK;
use clap::{Args, Parser, Subcommand, ValueEnum};
use output::Output;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compiles OLM registry+v1 bundles into Helm charts.
#[derive(Debug, Parser)]
#[command(name = "bundle2chart", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Global {
    /// The configuration.
    #[arg(short, long, global = true, value_name = "FILE", default_value = "bundles.toml")]
    config: PathBuf,
    /// How problems are reported; anything but human goes to standard output, unless a report is there.
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human)]
    message_format: MessageFormat,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
    /// Say nothing but errors.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say what comes from where, and what filters and patches match; twice: every request; three times: headers of answers too.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Use no network: images come from layouts and from the cache.
    #[arg(long, global = true)]
    offline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MessageFormat {
    Human,
    Json,
    Github,
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a first bundles.toml.
    Init,
    /// Write down which bytes each bundle is, so that builds stay with them.
    Lock(lock::LockCommand),
    /// Copy the locked images into a folder or to a registry of your own.
    Vendor(vendor::Vendor),
    /// Compile bundles to charts.
    Build(build::Build),
    /// Show what an upgrade will do.
    Diff(diff::Diff),
    /// Show what is in a bundle.
    Inspect(inspect::Inspect),
    /// List the images that charts need.
    Images(images::Images),
    /// Check manifests for serving models that anyone wrote.
    CheckServing(check_serving::CheckServing),
    /// Explain a diagnostic code.
    Explain(explain::Explain),
    /// Print the JSON schema of bundles.toml.
    Schema,
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Nothing to complain about.
    Clean,
    /// Differences or findings that were asked for.
    Findings,
    /// Wrong usage or an error; nothing was written.
    Error,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Clean => 0,
            Exit::Findings => 1,
            Exit::Error => 2,
        })
    }
}

/// Prints help, the version or what is wrong with the arguments, which the message quotes.
#[expect(clippy::print_stderr, reason = "nothing is known yet of how to print")]
fn usage(mut error: clap::Error) -> ExitCode {
    // An argument stays on its line.
    let arguments =
        std::env::args_os().map(|text| escape::visible(&text.to_string_lossy()).into_owned());
    if let Err(visible) = Cli::try_parse_from(arguments) {
        error = visible;
    }
    let text = error.render().to_string();
    let safe = escape::lines(&text);
    if safe == text {
        // With colours, where the terminal has them.
        let _ = error.print();
    } else {
        eprint!("{safe}");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Parses the arguments of this process and runs the command. Exit code 0: clean; 1: differences
/// or findings; 2: wrong usage or an error.
#[expect(clippy::disallowed_methods, reason = "runs the command on a thread with a large stack")]
pub fn main() -> ExitCode {
    // A worker has no commands and no options, so it is none of the command line's business.
    if std::env::args_os().nth(1).is_some_and(|first| first == jq::worker::ARGUMENT) {
        return jq::worker::main();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(error),
    };
    jq::run_in(own_program());

    // The stack of the main thread is as large as the shell allows, which may be too small.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("main".to_owned()).stack_size(COMPILER_STACK);
        let running = thread.spawn_scoped(scope, || run(&cli));
        match running.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(exit)) => exit,
            // A panic has printed its message.
            Ok(Err(_)) => ExitCode::from(101),
            // The system has no thread to give.
            Err(_) => run(&cli),
        }
    })
}

fn run(cli: &Cli) -> ExitCode {
    let mut output = Output::new(&cli.global);
    let exit = match &cli.command {
        Command::Init => init::run(&cli.global.config, &mut output),
        Command::Build(build) => build.run(&cli.global, &mut output),
        Command::Lock(lock) => lock.run(&cli.global, &mut output),
        Command::Vendor(vendor) => vendor.run(&cli.global, &mut output),
        Command::Diff(diff) => diff.run(&cli.global, &mut output),
        Command::Inspect(inspect) => inspect.run(&cli.global, &mut output),
        Command::Images(images) => images.run(&cli.global, &mut output),
        Command::CheckServing(check) => check.run(&mut output),
        Command::Explain(explain) => explain.run(&mut output),
        Command::Schema => generate::schema(&mut output),
        Command::Completions { shell } => generate::completions(*shell, &mut output),
        Command::Man => generate::man(&mut output),
    };
    output.finish(exit).into()
}

/// This program, also when its file was replaced meanwhile.
fn own_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}
